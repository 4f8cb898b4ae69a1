// Package hermes runs a real hermes-agent beside `iris dev`: with the plugin
// installed, in a home of its own that leaves the user's alone, or in the home
// that the user names.
package hermes
