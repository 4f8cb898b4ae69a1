package turn

import (
	"strings"
	"testing"
)

func TestCleanFinal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, text, reasoning string }{
		{name: "empty"},
		{name: "as it is", raw: "Hello.\n\n  code\n", text: "Hello.\n\n  code"},
		{name: "newlines in front", raw: "\n\r\n\nHello", text: "Hello"},
		{name: "indent in front stays", raw: "\n    code", text: "    code"},
		{name: "a mark of its own stays", raw: "a ▉ b ▉", text: "a ▉ b ▉"},
		{name: "media at the end", raw: "Here.\n\nMEDIA:/tmp/a.png\n", text: "Here."},
		{name: "media alone", raw: "MEDIA:/tmp/a.png"},
		{name: "media in front", raw: "MEDIA:/a.png\n\nHere.", text: "Here."},
		{name: "media in the middle", raw: "a\nMEDIA:/a.png\nb", text: "a\nb"},
		{name: "media with spaces in its path", raw: "a\nMEDIA: /my files/a b.png", text: "a"},
		{name: "media in quotes", raw: "a\n  `MEDIA:/a.png`\nb", text: "a\nb"},
		{name: "media within a line", raw: "see MEDIA:/a.png", text: "see MEDIA:/a.png"},
		{name: "a sentence", raw: "a\nMEDIA: what a word", text: "a\nMEDIA: what a word"},
		{name: "media in a fence", raw: "```\nMEDIA:/a.png\n```\nMEDIA:/b.png", text: "```\nMEDIA:/a.png\n```"},
		{name: "media in a longer fence", raw: "````\n```\nMEDIA:/a\n````\nMEDIA:/b", text: "````\n```\nMEDIA:/a\n````"},
		{name: "media in a fence of tildes", raw: "~~~go\n```\nMEDIA:/a\n~~~\nMEDIA:/b", text: "~~~go\n```\nMEDIA:/a\n~~~"},
		{name: "code within a line opens no fence", raw: "```x``` y\nMEDIA:/a", text: "```x``` y"},
		{name: "an indented fence is none", raw: "    ```\nMEDIA:/a\nb", text: "    ```\nb"},
		{name: "reasoning in code", raw: "💭 **Reasoning:**\n```\nI\nsee.\n```\n\nYes.", text: "Yes.", reasoning: "I\nsee."},
		{name: "reasoning after newlines", raw: "\n\n💭 **Reasoning:**\n```\nI\n```\n\n\nYes.", text: "Yes.", reasoning: "I"},
		{name: "reasoning without an end", raw: "💭 **Reasoning:**\n```\nI see.", text: "💭 **Reasoning:**\n```\nI see."},
		{name: "reasoning in a quote", raw: "> 💭 **Reasoning:**\n> I\n>\n> see.\n\nYes.", text: "Yes.", reasoning: "I\n\nsee."},
		{name: "reasoning in subtext", raw: "-# 💭 Reasoning\n-# I see.\n\nYes.", text: "Yes.", reasoning: "I see."},
		{name: "a quote that goes on", raw: "> 💭 **Reasoning:**\n> I\nsee.", text: "> 💭 **Reasoning:**\n> I\nsee."},
		{name: "a quote that goes on, and an end", raw: "> 💭 **Reasoning:**\n> I\nsee.\n\nYes.", text: "> 💭 **Reasoning:**\n> I\nsee.\n\nYes."},
		{name: "reasoning later", raw: "Yes.\n💭 **Reasoning:**\n```\nI\n```\n\nx", text: "Yes.\n💭 **Reasoning:**\n```\nI\n```\n\nx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if text, reasoning := cleanFinal(c.raw); text != c.text || reasoning != c.reasoning {
				t.Errorf("cleanFinal(%q) = %q, %q; want %q, %q", c.raw, text, reasoning, c.text, c.reasoning)
			}
		})
	}
}

func TestCleanLive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, text string }{
		{name: "mark", raw: "Hello ▉", text: "Hello"},
		{name: "mark without its space", raw: "Hello\n\n▉", text: "Hello"},
		{name: "mark alone", raw: " ▉"},
		{name: "one mark only", raw: "a ▉ ▉", text: "a ▉"},
		{name: "space stays", raw: "Hello  ▉", text: "Hello "},
		{name: "no mark", raw: "OK", text: "OK"},
		{name: "media begins", raw: "a\n\nMED ▉", text: "a"},
		{name: "media grows", raw: "a\n\nMEDIA:/tm ▉", text: "a"},
		{name: "quote may begin media", raw: "a\n` ▉", text: "a"},
		{name: "space may begin media", raw: "a\n  ▉", text: "a"},
		{name: "media is whole", raw: "a\nMEDIA:/a.png\nb ▉", text: "a\nb"},
		{name: "other words", raw: "a\nMEDICINE ▉", text: "a\nMEDICINE"},
		{name: "in a fence", raw: "```\nMEDIA:/a ▉", text: "```\nMEDIA:/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if text, _ := cleanLive(c.raw); text != c.text {
				t.Errorf("cleanLive(%q) = %q, want %q", c.raw, text, c.text)
			}
		})
	}
}

// TestRecent: what is added twice is remembered as long as anything else.
func TestRecent(t *testing.T) {
	t.Parallel()
	r := recent{keep: 2}
	for _, id := range []string{"a", "a", "b"} {
		r.add(id)
	}
	if !r.has("a") || !r.has("b") {
		t.Errorf("of two ids, kept are a: %v, b: %v", r.has("a"), r.has("b"))
	}
	if r.add("c"); r.has("a") || !r.has("b") || !r.has("c") {
		t.Errorf("of three ids, the last two to be kept: %v", r.order)
	}
}

// FuzzClean holds what devices rely on: a growing text never shrinks, and the
// final text begins with what was shown, but for its last line.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"Hello\n\nMEDIA:/a b.png\nx", "```\nMEDIA:/a\n``` \n`MEDIA:/b`", "\r\n a\n~~~\n``\n~~~~\nMEDIA:", "💭 x\n MEDIA: y z",
	} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut < 0 || cut > len(text) || strings.Contains(text, "▉") || strings.Contains(text, "Reasoning") {
			return
		}
		short, _ := cleanLive(text[:cut] + " ▉")
		long, _ := cleanLive(text + " ▉")
		final, _ := cleanFinal(text)
		if !strings.HasPrefix(long, short) {
			t.Errorf("shrinks: %q after %q", long, short)
		}
		if !strings.HasPrefix(final, long) {
			t.Errorf("final %q after %q", final, long)
		}
		if strings.HasPrefix(final, "\n") || strings.Contains(long, "▉") {
			t.Errorf("not clean: %q, %q", long, final)
		}
		if again, _ := cleanFinal(final); again != final {
			t.Errorf("cleaned twice: %q, %q", final, again)
		}
	})
}
