package iris

import "time"

// Removal is a gateway that is being removed with all that it has. Its row
// exists from the moment in which the gateway's own is gone, to the end.
type Removal struct {
	Gateway string // id
	Name    string
	At      time.Time // when it began
}

// OrderLifetime is how long the host of a removed gateway is waited for, which
// is to erase its copies.
const OrderLifetime = 30 * 24 * time.Hour
