// Package deploytest holds together what is deployed and what is written about
// it: the Dockerfile, the build, the terraform module, playbooks and prices; and
// the code with the pages that its comments cite. It needs neither Docker nor
// terraform; `terraform test` checks the module itself.
package deploytest
