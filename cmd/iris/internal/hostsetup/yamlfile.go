package hostsetup

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlFile is the text of a YAML file, edited a line at a time where that is
// possible: the YAML library would lose blank lines, and set comments and
// indentation as it likes. Every edit is checked against the one of the
// library; where the two differ, the library's text is taken.
type yamlFile struct {
	text string
	root *yaml.Node // of text: a mapping, nil for an empty file
}

// parseYAML reads a file. Errors name the line.
func parseYAML(text string) (*yamlFile, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	f := &yamlFile{text: text}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return f, nil
	}
	f.root = doc.Content[0]
	if f.root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: settings must be a mapping, like \"name: value\"", f.root.Line)
	}
	var all map[string]any // what the parser lets pass: repeated keys, unknown anchors
	if err := f.root.Decode(&all); err != nil {
		return nil, err
	}
	return f, nil
}

// get returns the node at a path, nil if there is none.
func (f *yamlFile) get(path []string) *yaml.Node {
	_, value := f.entry(path)
	return value
}

// entry returns the key and the value at a path.
func (f *yamlFile) entry(path []string) (key, value *yaml.Node) {
	value = f.root
	for _, name := range path {
		if key, value = child(value, name); value == nil {
			return nil, nil
		}
	}
	return key, value
}

// child returns the entry of a mapping with a name.
func child(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// set gives a path a value, in YAML on one line.
func (f *yamlFile) set(path []string, value string) error {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(value), &doc); err != nil {
		return err
	}
	return f.edit(func(root *yaml.Node) error { return setNode(root, path, doc.Content[0]) }, f.setText(path, value))
}

// remove takes the entry at a path away.
func (f *yamlFile) remove(path []string) error {
	return f.edit(func(root *yaml.Node) error {
		parent := &yamlFile{root: root}
		mapping := parent.get(path[:len(path)-1])
		for i := 0; mapping != nil && i+1 < len(mapping.Content); i += 2 {
			if mapping.Content[i].Value == path[len(path)-1] {
				mapping.Content = append(mapping.Content[:i], mapping.Content[i+2:]...)
				break
			}
		}
		return nil
	}, f.removeText(path))
}

// add appends an item to the list at a path, which is made if need be.
func (f *yamlFile) add(path []string, item string) error {
	list := f.get(path)
	if list == nil || list.Kind != yaml.SequenceNode {
		return f.set(path, "["+item+"]")
	}
	return f.edit(func(root *yaml.Node) error {
		list := (&yamlFile{root: root}).get(path)
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: item})
		return nil
	}, f.addText(list, item))
}

// drop removes an item from the list at a path.
func (f *yamlFile) drop(path []string, item string) error {
	return f.edit(func(root *yaml.Node) error {
		list := (&yamlFile{root: root}).get(path)
		if i := indexOf(list, item); i >= 0 {
			list.Content = append(list.Content[:i], list.Content[i+1:]...)
		}
		return nil
	}, f.dropText(path, item))
}

// indexOf returns the place of an item in a list, -1 for none.
func indexOf(list *yaml.Node, item string) int {
	if list == nil || list.Kind != yaml.SequenceNode {
		return -1
	}
	for i, n := range list.Content {
		if n.Kind == yaml.ScalarNode && n.Value == item {
			return i
		}
	}
	return -1
}

// edit changes the file as change changes its tree: by text, if that means the
// same.
func (f *yamlFile) edit(change func(root *yaml.Node) error, text string) error {
	wanted, err := parseYAML(f.text) // a copy that may be changed
	if err != nil {
		return err
	}
	if wanted.root == nil {
		wanted.root = &yaml.Node{Kind: yaml.MappingNode}
	}
	if err := change(wanted.root); err != nil {
		return err
	}
	encoded, err := encode(wanted.root, f.text)
	if err != nil {
		return err
	}
	meaning := wanted.meaning()
	for _, text := range []string{text, encoded} {
		edited, err := parseYAML(text)
		if text != "" && err == nil && reflect.DeepEqual(edited.meaning(), meaning) {
			*f = *edited
			return nil
		}
	}
	if meaning == nil {
		*f = yamlFile{}
		return nil
	}
	return errors.New("the settings are written in a way that iris cannot edit: put each on a line of its own")
}

// meaning is what the file says, without how it says it: an empty mapping or
// list is as good as nothing.
func (f *yamlFile) meaning() any {
	if f.root == nil {
		return nil
	}
	var v any
	if f.root.Decode(&v) != nil { // parseYAML has tried
		return nil
	}
	return prune(v)
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = prune(value)
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// setNode puts a value into the tree, and makes the mappings above it.
func setNode(root *yaml.Node, path []string, value *yaml.Node) error {
	node := root
	for i, name := range path {
		_, next := child(node, name)
		if i == len(path)-1 {
			if next != nil {
				value.LineComment = next.LineComment
				*next = *value
				return nil
			}
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
			return nil
		}
		switch {
		case next == nil:
			next = &yaml.Node{Kind: yaml.MappingNode}
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, next)
		case isNull(next):
			*next = yaml.Node{Kind: yaml.MappingNode, HeadComment: next.HeadComment}
		case next.Kind != yaml.MappingNode:
			return fmt.Errorf("line %d: %s should hold settings, but is something else", next.Line, strings.Join(path[:i+1], "."))
		}
		node = next
	}
	return errors.New("empty path")
}

// encode writes a tree in the manner of a text.
func encode(root *yaml.Node, like string) (string, error) {
	if len(root.Content) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if strings.Contains(like, ":\n- ") { // as PyYAML writes lists
		enc.CompactSeqIndent()
	}
	if err := enc.Encode(root); err != nil {
		return "", err
	}
	return b.String(), enc.Close()
}

// inline writes a node on one line.
func inline(n *yaml.Node) string {
	plain := strip(n)
	out, err := yaml.Marshal(plain)
	if err != nil {
		return "null"
	}
	return strings.TrimSpace(string(out))
}

// strip copies a node without comments, for one line.
func strip(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style}
	switch {
	case n.Kind != yaml.ScalarNode:
		c.Style = yaml.FlowStyle
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		c.Style = yaml.DoubleQuotedStyle
	}
	for _, inner := range n.Content {
		c.Content = append(c.Content, strip(inner))
	}
	return c
}

// same reports whether a node says what a text on one line says.
func same(n *yaml.Node, value string) bool {
	var a, b any
	return n != nil && n.Decode(&a) == nil && yaml.Unmarshal([]byte(value), &b) == nil && reflect.DeepEqual(a, b)
}
