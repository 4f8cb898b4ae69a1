package e2e_test

import (
	"strings"
	"testing"

	"iris-gateway/e2e"
	"iris-gateway/e2e/model"
)

// TestFamilies: each kind of thing that hermes does or people answer, on a real
// hermes, in a lane of its own. What the phones got is compared with reviewed
// frames (testdata).
func TestFamilies(t *testing.T) {
	s := start(t)
	t.Run("plain", func(t *testing.T) { family(t, s, simple("plain")) }) // the first turn takes long: alone
	t.Run("of", func(t *testing.T) {                                     // waits for all of them
		for name, do := range families {
			t.Run(name, func(t *testing.T) { t.Parallel(); family(t, s, do) })
		}
	})

	// With other settings: alone.
	t.Run("approval-expired", func(t *testing.T) {
		s.hermes.Configure(t, "timeout: 300", "timeout: 2")
		family(t, s, func(l *lane) {
			l.grow("danger", model.Rounds("danger")[0])
			l.await("the question", e2e.Is("picker.approval"))
			l.idle()
		})
	})
	t.Run("whole", func(t *testing.T) {
		s.hermes.Configure(t, "streaming: true", "streaming: false", "show_reasoning: false", "show_reasoning: true")
		s.restart(t)
		for name, scenario := range map[string]string{"reasoning-whole": "reason", "beats-whole": "beats"} {
			t.Run(name, func(t *testing.T) { family(t, s, quick(scenario)) })
		}
	})
	s.restart(t)
}

// TestHermesEnds: hermes is stopped, or killed, in the middle of an answer. It has
// a home of its own: when it starts again it goes on in every lane it knows.
func TestHermesEnds(t *testing.T) {
	s := start(t).second(t)
	for _, end := range []struct {
		name   string
		do     func(t testing.TB)
		answer string // to hermes' own question: after a kill that repeats the user's words
	}{
		{"terminated", s.hermes.Terminate, "plain"},
		{"killed", func(testing.TB) { s.hermes.Kill() }, "slow"},
	} {
		t.Run(end.name, func(t *testing.T) {
			family(t, s, func(l *lane) {
				hold, pieces := l.hold(), model.Pieces("slow")
				l.send(l.ask("slow"))
				hold.Next()
				hold.Next()
				l.await("two pieces", showing(pieces[0]+pieces[1]))
				end.do(t)
				hold.Rest()
				s.hermes.Start(t)
				l.resumed = true
				l.await("what hermes says when it goes on by itself", ends(model.Text(end.answer)))
				l.idle()
			})
		})
	}
}

// family runs one in a new lane and compares.
func family(t *testing.T, s *stack, do func(l *lane)) {
	t.Helper()
	name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
	l := newLane(t, s, name)
	do(l)
	l.check(name)
}

var families = map[string]func(l *lane){
	"reasoning": simple("reason"),
	"tool":      simple("tool"),
	"several":   simple("several"),
	"toolfail":  simple("toolfail"),
	"beats":     simple("beats"),
	"huge":      quick("huge"),
	"one":       quick("one"),
	"http401":   quick("http401"),
	"http500":   quick("http500"),
	"empty":     quick("empty"),
	"cut":       begun("cut"),
	"cutoff":    begun("cutoff"),

	"approval-once": func(l *lane) { approval(l, "once") },
	"approval-deny": func(l *lane) { approval(l, "deny") },

	"clarify-choice": func(l *lane) {
		l.send(l.ask("clarify"))
		l.pick(l.await("the question", e2e.Is("picker.clarify")), map[string]any{"value": "green"})
		l.idle()
		l.toldModel("green")
	},
	"clarify-text": func(l *lane) {
		l.send(l.ask("clarify"))
		l.pick(l.await("the question", e2e.Is("picker.clarify")), map[string]any{"value": nil, "text": "a warm grey"})
		l.idle()
		l.toldModel("a warm grey")
	},
	"clarify-message": func(l *lane) { // the next plain message answers too
		l.send(l.ask("clarify"))
		l.await("the question", e2e.Is("picker.clarify"))
		l.send("none of these")
		l.idle()
		l.toldModel("none of these")
	},

	"model": func(l *lane) {
		l.send("/model")
		picker := l.await("the models", e2e.Is("picker.model"))
		l.idle()
		l.pick(picker, map[string]any{"value": "custom/" + model.Name}) // hermes offers no other of this server
		l.await("what became of it", e2e.Is("message"))
		l.send(l.ask("one"))
		l.idle()
	},
	"effort": func(l *lane) {
		l.send("/reasoning")
		picker := l.await("the choices", e2e.Is("picker.choice"))
		l.idle()
		l.pick(picker, map[string]any{"value": "high"})
		l.await("what became of it", e2e.Is("message"))
		l.send(l.ask("one"))
		l.idle()
	},
	"confirm": func(l *lane) {
		l.send(l.ask("one"))
		l.idle()
		l.send("/new")
		picker := l.await("the question", e2e.Is("picker.confirm"))
		l.idle()
		l.pick(picker, map[string]any{"value": "once"})
		l.await("what became of it", e2e.Is("message"))
		l.send(l.ask("one"))
		l.idle()
	},
	"confirm-cancel": func(l *lane) {
		l.send(l.ask("one"))
		l.idle()
		l.send("/new")
		picker := l.await("the question", e2e.Is("picker.confirm"))
		l.idle()
		l.pick(picker, map[string]any{"value": "cancel"})
		l.await("what became of it", e2e.Is("message"))
	},

	"cron": func(l *lane) {
		l.send(l.ask("cronjob"))
		l.idle()
		l.stack.hermes.Run(l, "cron", "run", "job-"+l.key) // another process: it tells the gateway by itself
		l.await("what the job says", func(f e2e.Frame) bool { return f.Type == "message" && f.Body.Role == "cron" })
		l.await("the notification", e2e.Is("notification"))
	},

	"stop-stream": func(l *lane) {
		hold, pieces := l.hold(), model.Pieces("slow")
		l.send(l.ask("slow"))
		hold.Next()
		hold.Next()
		l.await("two pieces", showing(pieces[0]+pieces[1]))
		l.stop()
		l.idle()
	},
	"stop-tool": func(l *lane) {
		l.grow("gate", model.Rounds("gate")[0])
		l.await("tool.start", e2e.Is("tool.start"))
		l.stop()
		l.idle()
	},
	"stop-clarify": func(l *lane) {
		l.send(l.ask("clarify"))
		l.await("the question", e2e.Is("picker.clarify"))
		l.stop()
		l.idle()
		l.send("and #one more") // the agent's thread is free again
		l.idle()
	},

	"steer": func(l *lane) {
		l.grow("gate", model.Rounds("gate")[0])
		l.await("tool.start", e2e.Is("tool.start"))
		ack := l.phone.RequestIn(l, "agent.steer", l.chat, l.thread, map[string]any{"text": "be brief about it"})
		if ack.Type != "ack" {
			l.Fatalf("agent.steer was answered by %s", ack)
		}
		l.open(l.key)
		l.idle()
		l.toldModel("be brief about it")
	},
	"busy-second": func(l *lane) {
		hold := l.hold()
		l.send(l.ask("plain"))
		await(l.T, hold.Arrived(), "hermes asks the model")
		l.read(l.send("and a #reason for it"))
		hold.Rest()
		l.idle()
		l.idle()
	},

	"thread": func(l *lane) {
		made := l.phone.Request(l, "channel.create", l.chat, map[string]any{"name": "side", "kind": "thread"})
		if l.thread = made.Body.ThreadID; l.thread == "" {
			l.Fatalf("channel.create was answered by %s", made)
		}
		l.begin()
		l.send(l.ask("beats"))
		l.idle()
	},
	"reply": func(l *lane) {
		l.send(l.ask("plain"))
		stop := l.await("the answer", e2e.Is("message.stop"))
		l.idle()
		l.sendRe("why, #reason key="+l.key, stop.Body.MessageID)
		l.idle()
		if r := l.requests(); !strings.Contains(r[len(r)-1].User, `[Replying to your previous message: "Hello to you as well.`) {
			l.Errorf("the model was not told what is replied to: %q", r[len(r)-1].User)
		}
	},
}

// quick is a message and its turn, as fast as it comes.
func quick(scenario string) func(l *lane) {
	return func(l *lane) {
		l.send(l.ask(scenario))
		l.idle()
	}
}

// simple is the same, every text seen growing.
func simple(scenario string) func(l *lane) {
	return func(l *lane) {
		l.grow(scenario, model.Rounds(scenario)...)
		l.idle()
	}
}

// begun is the same, the first text seen growing.
func begun(scenario string) func(l *lane) {
	return func(l *lane) {
		l.grow(scenario, model.Rounds(scenario)[0])
		l.idle()
	}
}

func approval(l *lane, value string) {
	l.grow("danger", model.Rounds("danger")[0])
	l.pick(l.await("the question", e2e.Is("picker.approval")), map[string]any{"value": value})
	l.idle()
}

// grow sends a message for the scenario and lets the texts of these rounds go
// piece by piece, each when the phone has seen the one before; then all the rest.
func (l *lane) grow(scenario string, rounds ...model.Round) {
	l.Helper()
	hold := l.hold()
	l.send(l.ask(scenario))
	for _, r := range rounds {
		shown := ""
		for i, piece := range r.Say {
			if i > 0 {
				l.await("a message.update with "+shown, showing(shown))
			}
			shown += piece
			hold.Next()
		}
	}
	hold.Rest()
}

// requests are what hermes asked the model for in this lane, since the newest key.
func (l *lane) requests() []model.Request {
	var mine []model.Request
	for _, r := range l.stack.model.Requests() {
		if r.Scenario != "" && strings.Contains(r.User, "key="+l.key) {
			mine = append(mine, r)
		}
	}
	return mine
}

// toldModel wants a text in the last thing that the model was told.
func (l *lane) toldModel(text string) {
	l.Helper()
	r := l.requests()
	if len(r) == 0 || !strings.Contains(r[len(r)-1].Tail, text) {
		l.Errorf("the model was not told %q in %+v", text, r)
	}
}
