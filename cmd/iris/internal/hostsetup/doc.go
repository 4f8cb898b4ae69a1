// Package hostsetup makes a home of hermes a host of Iris, and takes that back:
// the plugin, its settings in .env, and hermes' own settings in config.yaml.
//
// Files of people are edited, not written anew: only the lines that change are
// touched. What was there before is noted in a file beside the plugin, so that
// it can be undone setting by setting, whatever else was changed meanwhile.
package hostsetup
