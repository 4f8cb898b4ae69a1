package iris

import "time"

// Entry is one step of a gateway's outbox log: everything that one commit made
// happen. Entries are numbered 1, 2, 3 … without holes.
type Entry struct {
	Cursor int64
	Writer string // random id of the instance that wrote it, made anew each time it opens the gateway
	Batch  int64  // count of the writer's batches; writer and batch together name a commit

	// Carried forward from entry to entry, so that the newest one says all.
	First       int64    // oldest entry kept
	Host        HostMark // how far the host's events are in the log
	LastInbound int64    // newest entry that holds inbound, 0 when none did

	Frames   []string  // encoded terminal frames, in order, without cursor and id
	Inbound  []string  // encoded items for the host, numbered from 0
	Control  []Control // what other instances must know
	Lanes    []Lane    // lanes the frames touch
	Messages []string  // message ids the frames and inbound touch
	Notify   bool      // deserves a push to devices that do not receive it live
	At       time.Time // server time
}

// HostMark says how far host and log agree.
type HostMark struct {
	Epoch    string // of the host's spool; changes only by the entry that attaches a host
	Seq      int64  // last event of the epoch contained in the log
	Received int64  // the host has all inbound up to this cursor
}

// ControlKind says what a [Control] is about.
type ControlKind string

// The kinds of control item.
const (
	DeviceAttached ControlKind = "device.attached"
	DeviceDetached ControlKind = "device.detached"
	DeviceRevoked  ControlKind = "device.revoked"
	HostAttached   ControlKind = "host.attached"
	HostDetached   ControlKind = "host.detached"
	// HostRevoked: the host's token was replaced, its connection ends.
	HostRevoked ControlKind = "host.revoked"
	// GatewayRemoved: the gateway is no more. It is the last entry of its log.
	GatewayRemoved ControlKind = "gateway.removed"
	// PushRegistered: the device has the registration token of hash Push.
	PushRegistered ControlKind = "push.registered"
	// PushTopic: the device has the ntfy topic of hash Push.
	PushTopic ControlKind = "push.topic"
	// InboundDone: the host has done what an inbound item asked for, or not.
	InboundDone ControlKind = "inbound.done"
	// DeletionBegun: from here on what the Deletion names is gone.
	DeletionBegun ControlKind = "deletion.begun"
	// DeletionEnded: nothing is left of it; of the Deletion only the id counts.
	DeletionEnded ControlKind = "deletion.ended"
)

// Control tells the other instances about a connection, or about something that
// only the instance with the host's or device's connection has heard.
type Control struct {
	Kind     ControlKind
	Device   string // "" for the host
	Link     Link
	Push     string    // of PushRegistered and PushTopic; "" for none
	Done     Done      // of InboundDone
	Deletion *Deletion // of DeletionBegun and DeletionEnded: what everybody must know of it
}

// Done is what became of an inbound item that asked for something.
type Done struct {
	Cursor int64 // entry that holds the item
	Item   int   // from 0, in the entry
	OK     bool
	Error  string // for people
}

// Commit is what goes into the log in one atomic write: the new entry, what
// the ring demands, and the rows that change with it.
type Commit struct {
	Entry   Entry
	Guard   int64   // entry that must exist and is marked; 0 for none
	Drop    []int64 // entries that must exist and are deleted
	Changes []Change
}

// Change is a row written in the same commit as the entry that changed it. Its
// kinds are types of this package.
type Change interface{ change() }

// The kinds of change.
type (
	// CreateMessage adds a message; the commit is refused if its id is taken.
	CreateMessage struct{ Message Message }
	// PutMessage adds or replaces a message.
	PutMessage struct{ Message Message }
	// PutChannel adds or replaces a channel or thread.
	PutChannel struct{ Channel Channel }
	// SetBusy says which turn runs in a lane ("" = none). The commit is
	// refused if the lane is gone.
	SetBusy struct {
		Lane Lane
		Turn string
	}
	// SetDeviceLink says which connection a device has. Only a device that
	// exists has one: else the commit is refused.
	SetDeviceLink struct {
		Device string
		Link   Link
		Name   string // "" leaves it
		Seen   time.Time
	}
	// SetHost replaces what is known of the host.
	SetHost struct{ Host Host }
	// SetHostLink says which connection the host has and leaves the rest.
	SetHostLink struct {
		Link Link
		Seen time.Time
	}
)

func (CreateMessage) change() {}
func (PutMessage) change()    {}
func (PutChannel) change()    {}
func (SetBusy) change()       {}
func (SetDeviceLink) change() {}
func (SetHost) change()       {}
func (SetHostLink) change()   {}
