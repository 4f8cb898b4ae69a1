// Package archive writes all of a gateway into a folder (docs/export.md). What
// it has written is noted after each page, so that an export that was cut goes
// on there.
package archive
