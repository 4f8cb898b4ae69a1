package chaos

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// numbers are what the processes count of themselves (IRIS_METRICS_ADDR). What a
// process counted in the last moments before it was killed is lost.
type numbers struct {
	mu   sync.Mutex
	last map[string]map[string]float64 // by address, which is another in each life, and name
}

// shown are the metrics of the report.
var shown = []string{"iris_log_entries_total", "iris_log_conflicts_total", "iris_log_refusals_total", "iris_log_unanswered_total", "iris_slow_consumers_total"}

// watch reads the numbers of an instance until ctx ends.
func (n *numbers) watch(ctx context.Context, in *instance) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for wait(ctx.Done(), 250*time.Millisecond) {
		if addr, _ := in.metrics.Load().(string); addr != "" {
			n.read(client, addr)
		}
	}
}

// read takes the numbers of one process, if it answers.
func (n *numbers) read(client *http.Client, addr string) {
	res, err := client.Get("http://" + addr + "/metrics")
	if err != nil {
		return
	}
	defer res.Body.Close()
	found := map[string]float64{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		var f float64
		if _, err := fmt.Sscan(value, &f); err == nil {
			found[name] = f
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last[addr] = found
}

// String adds the numbers of all lives up.
func (n *numbers) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var parts []string
	for _, name := range shown {
		sum := 0.0
		for _, life := range n.last {
			sum += life[name]
		}
		short := strings.TrimSuffix(strings.TrimPrefix(name, "iris_"), "_total")
		parts = append(parts, fmt.Sprint(sum, " ", strings.ReplaceAll(short, "_", " ")))
	}
	return strings.Join(parts, ", ")
}
