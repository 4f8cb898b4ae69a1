// Package importtest holds the tests of who may import whom: the house in
// three rules, of which each is easily broken by one convenient import.
package importtest
