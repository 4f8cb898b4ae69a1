package cloudstore_test

import (
	"slices"
	"testing"
	"time"
)

const (
	benchSize   = 64 << 20
	benchRounds = 7         // in each of them every side moves the bytes once
	single      = benchSize // a part that all bytes fit into
	parts       = 8 << 20   // as the gateway writes them
)

// benchUpload compares an upload with the bare copy's.
func benchUpload(b *testing.B, bare *bareCopy, data []byte, gate func()) {
	var composes []time.Duration
	took := byTurns(b,
		gate,
		func() { composes = append(composes, bare.upload(b, "composed", data, parts)) },
		func() { bare.upload(b, "one", data, single) },
	)
	gates, composed, one := took[0], took[1], took[2]
	composes = composes[1:] // without the one that warmed up
	moved := make([]time.Duration, len(gates))
	for i := range moved {
		moved[i] = gates[i] - composes[i]
	}
	b.ReportMetric(speed(gates), "gateway-MB/s")
	b.ReportMetric(speed(composed), "bare-MB/s")
	b.ReportMetric(speed(one), "single-MB/s")
	b.ReportMetric(1e3*median(seconds(composes)), "compose-ms")
	b.ReportMetric(ratio(composed, gates), "ratio")
	b.ReportMetric(ratio(one, gates), "ratio-single")
	b.ReportMetric(ratio(one, moved), "ratio-moved")
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
