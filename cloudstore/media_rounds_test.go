package cloudstore_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/api/googleapi"
)

const (
	benchSize   = 64 << 20
	benchRounds = 7         // in each of them every side moves the bytes once
	single      = benchSize // a part that all bytes fit into
	parts       = 8 << 20   // as the gateway writes them when they come slowly
	streamed    = 0         // a chunk of all bytes, which the client cannot repeat
	repeatable  = googleapi.DefaultUploadChunkSize
)

// benchUpload compares an upload with the bare copy's.
func benchUpload(b *testing.B, bare *bareCopy, data []byte, gate func()) {
	took := byTurns(b,
		gate,
		func() { bare.upload(b, "default", data, single, repeatable) },
		func() { bare.upload(b, "composed", data, parts, streamed) },
		func() { bare.upload(b, "streamed", data, single, streamed) },
	)
	b.ReportMetric(speed(took[0]), "gateway-MB/s")
	b.ReportMetric(ratio(took[1], took[0]), "ratio")
	b.ReportMetric(ratio(took[2], took[0]), "ratio-composed")
	b.ReportMetric(ratio(took[3], took[0]), "ratio-streamed")
}

// benchPull compares a download with the bare copy's of an object of the same size.
func benchPull(b *testing.B, bare *bareCopy, object string, gate func()) {
	took := byTurns(b, gate, func() { bare.pull(b, object, benchSize) })
	b.ReportMetric(speed(took[0]), "gateway-MB/s")
	b.ReportMetric(speed(took[1]), "bare-MB/s")
	b.ReportMetric(ratio(took[1], took[0]), "ratio")
}

// byTurns lets each side move the bytes once to be warm, then benchRounds times, and
// returns how long each took in each round. In every other round the order is the
// other way round, so that what disturbs them disturbs all.
func byTurns(b *testing.B, sides ...func()) [][]time.Duration {
	for _, move := range sides {
		move()
	}
	order := make([]int, len(sides))
	for i := range order {
		order[i] = i
	}
	took := make([][]time.Duration, len(sides))
	for b.Loop() {
		for range benchRounds {
			for _, i := range order {
				began := time.Now()
				sides[i]()
				took[i] = append(took[i], time.Since(began))
			}
			slices.Reverse(order)
		}
	}
	return took
}

// speed is the median in MB/s.
func speed(took []time.Duration) float64 { return benchSize / 1e6 / median(seconds(took)) }

// ratio is the median of how many times as fast gate was in each round.
func ratio(bare, gate []time.Duration) float64 {
	all := make([]float64, len(gate))
	for i := range all {
		all[i] = bare[i].Seconds() / gate[i].Seconds()
	}
	return median(all)
}

func seconds(took []time.Duration) (all []float64) {
	for _, d := range took {
		all = append(all, d.Seconds())
	}
	return all
}

func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
