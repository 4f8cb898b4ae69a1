package rows

import "iris-gateway/iris"

// The errors that both stores give for rows that are missing or taken, worded
// for the people who read them.

// NoGateway says that there is no gateway g.
func NoGateway(g string) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "no gateway %q", g)
}

// GatewayExists says that gateway g cannot be made again.
func GatewayExists(g string) *iris.Error {
	return iris.Errorf(iris.CodeConflict, "gateway %q or its host token exists already", g)
}

// NoDevice says that there is no device d.
func NoDevice(d string) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "no device %q", d)
}

// NoMessage says that there is no message with this id.
func NoMessage(id string) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "no message %q", id)
}

// TokenUnknown says that a token is not, or no longer, known.
func TokenUnknown() *iris.Error {
	return iris.Errorf(iris.CodeAuth, "token unknown")
}

// TokenExists says that a token was made before.
func TokenExists() *iris.Error {
	return iris.Errorf(iris.CodeConflict, "token exists already")
}

// NoLive says that a turn has no live document.
func NoLive(turn string) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "turn %q has ended", turn)
}

// NotAttached says that a live document's writer does not have the host.
func NotAttached(l iris.Live) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "the host of turn %q is not attached to %q", l.Turn, l.Writer)
}

// NoPairing says that a gateway has no unused pairing with this id.
func NoPairing(id string) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "no pairing %q: it was used, or has expired", id)
}

// NoMedia says that there is no medium with this id.
func NoMedia(id string) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "no medium %q", id)
}

// MediaExists says that a medium's id is taken.
func MediaExists(id string) *iris.Error {
	return iris.Errorf(iris.CodeConflict, "medium %q exists already, or is being sent", id)
}

// UploadTaken says that somebody else goes on with an upload, or has removed it.
func UploadTaken(id string) *iris.Error {
	return iris.Errorf(iris.CodeConflict, "medium %q is being sent by another connection, or was removed", id)
}

// NoObject says that a bucket has no such object.
func NoObject(name string) *iris.Error {
	return iris.Errorf(iris.CodeNotFound, "no object %q", name)
}
