package hub

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts what the hub does. The zero value of a Config gets metrics
// that nobody reads.
type Metrics struct {
	Devices       prometheus.Gauge     // attached device sockets
	Hosts         prometheus.Gauge     // attached hosts
	Gateways      prometheus.Gauge     // open gateways
	Entries       prometheus.Counter   // entries appended here
	CommitSeconds prometheus.Histogram // from the first attempt to the known outcome
	GroupSize     prometheus.Histogram // proposals in a commit
	Conflicts     prometheus.Counter   // commits that met another entry
	Refusals      prometheus.Counter   // commits refused by a row or the ring's guard
	Unanswered    prometheus.Counter   // attempts without an answer, repeated
	LiveMerged    prometheus.Counter   // live frames replaced by newer ones before they were sent
	LiveDropped   prometheus.Counter   // live frames dropped because a queue was full
	SlowConsumers prometheus.Counter   // sockets closed with 1013
}

// NewMetrics makes the metrics and registers them, unless reg is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		Devices:  gauge("devices_attached", "Device sockets that are attached."),
		Hosts:    gauge("hosts_attached", "Hosts that are attached."),
		Gateways: gauge("gateways_open", "Gateways that are open on this instance."),
		Entries:  counter("log_entries_total", "Log entries appended by this instance."),
		CommitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "iris", Name: "log_commit_seconds", Help: "Time until the outcome of a commit was known.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		GroupSize: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "iris", Name: "log_group_size", Help: "Proposals that were committed together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		Conflicts:     counter("log_conflicts_total", "Commits that met an entry of another instance."),
		Refusals:      counter("log_refusals_total", "Commits refused by a row or by the ring's guard."),
		Unanswered:    counter("log_unanswered_total", "Attempts to commit that got no answer."),
		LiveMerged:    counter("live_frames_merged_total", "Live frames that a newer one replaced before they were sent."),
		LiveDropped:   counter("live_frames_dropped_total", "Live frames dropped because the peer was slow."),
		SlowConsumers: counter("slow_consumers_total", "Sockets closed with 1013 because the peer was slow."),
	}
	if reg != nil {
		reg.MustRegister(m.Devices, m.Hosts, m.Gateways, m.Entries, m.CommitSeconds, m.GroupSize, m.Conflicts,
			m.Refusals, m.Unanswered, m.LiveMerged, m.LiveDropped, m.SlowConsumers)
	}
	return m
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "iris", Name: name, Help: help})
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "iris", Name: name, Help: help})
}
