package cloudstore_test

import (
	"fmt"
	"sync"
	"testing"
)

// The real gateway as a process of its own, Firestore's emulator and
// fake-gcs-server: what a medium costs in time and memory.

// BenchmarkMediaUpload and BenchmarkMediaPull move 64 MiB by turns through a
// gateway and through a bare copy between coder/websocket and the storage client,
// a process as well. One bare copy uploads as the client does by itself, in chunks
// that it could repeat ("ratio"). One writes parts that are composed, as the gateway
// does when they come more slowly ("ratio-composed"). One streams all into one object,
// which nothing could resume ("ratio-streamed").
func BenchmarkMediaUpload(b *testing.B) {
	gate, bare := startGateway(b), startBare(b)
	data := make([]byte, benchSize)
	hash := hashOf(data)
	phone := gate.phone(b, "phone")
	uploads := 0
	benchUpload(b, bare, data, func() {
		uploads++
		phone.upload(b, fmt.Sprint("ref", uploads), data, hash)
	})
}

func BenchmarkMediaPull(b *testing.B) {
	gate, bare := startGateway(b), startBare(b)
	data := make([]byte, benchSize)
	phone := gate.phone(b, "phone")
	bare.upload(b, "object", data, single, streamed)
	phone.upload(b, "ref", data, hashOf(data))
	id := phone.sendMedia(b, "ref")
	benchPull(b, bare, "object", func() { phone.pull(b, id, benchSize) })
}

// BenchmarkMediaByte tells how long a medium of one byte takes: what a transfer
// costs however small it is.
func BenchmarkMediaByte(b *testing.B) {
	gate := startGateway(b)
	phone := gate.phone(b, "phone")
	data := []byte("x")
	hash := hashOf(data)
	phone.upload(b, "first", data, hash)
	id := phone.sendMedia(b, "first")
	b.Run("upload", func(b *testing.B) {
		for b.Loop() {
			phone.upload(b, "ref", data, hash)
		}
	})
	b.Run("pull", func(b *testing.B) {
		for b.Loop() {
			phone.pull(b, id, 1)
		}
	})
}

// BenchmarkMediaMemory tells by how much the gateway's resident memory grows for
// each of so many transfers at once.
func BenchmarkMediaMemory(b *testing.B) {
	for _, transfers := range []int{1, 20} {
		for _, pull := range []bool{false, true} {
			b.Run(fmt.Sprintf("pull=%v/transfers=%d", pull, transfers), func(b *testing.B) {
				gate := startGateway(b)
				data := make([]byte, 24<<20)
				hash := hashOf(data)
				var phones []*rawPhone
				for i := range transfers {
					phones = append(phones, gate.phone(b, fmt.Sprint("phone", i)))
				}
				phones[0].upload(b, "first", data, hash)
				id := phones[0].sendMedia(b, "first")
				phones[0].pull(b, id, len(data))
				before := gate.resident(b)
				peak := gate.watch(b)
				for n := 0; b.Loop(); n++ {
					var wait sync.WaitGroup
					for _, p := range phones {
						wait.Go(func() {
							if pull {
								p.pull(b, id, len(data))
							} else {
								p.upload(b, fmt.Sprint("ref", n), data, hash)
							}
						})
					}
					wait.Wait()
				}
				grown := max(0, peak()-before)
				b.ReportMetric(float64(before)/(1<<20), "before-MiB")
				b.ReportMetric(float64(grown)/(1<<20)/float64(transfers), "MiB/transfer")
			})
		}
	}
}
