// Package search decides which words find which text. It is pure: the stores
// keep what [Terms] makes of a message and look rows up by it, [Query] decides
// about each row that was found, and [Snippet] shows why.
//
// A text is a sequence of tokens: words, and single characters of the scripts
// that are written without spaces (Han, Kana, Hangul, Thai …) and emoji. Case,
// accents and widths make no difference. What stands between tokens is not
// looked for.
package search
