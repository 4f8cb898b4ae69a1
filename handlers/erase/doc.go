// Package erase carries deletions out (log.md, "Deleting"; protocol:
// message.delete, channel.delete).
//
// A deletion begins with an entry: from there on every instance treats what it
// names as gone, the host has been told in the log, and its row says that there
// is work to do. The work is here: to empty the rows that the first entry did not,
// to take the text out of the entries before it, out of live documents and
// pickers. The last entry removes the row and tells the devices. Each step can be
// done twice and by several at once, so whoever opens the gateway after a crash
// just does all of them again, and an instance that has it open does so when the
// one that began does not come to an end.
package erase
