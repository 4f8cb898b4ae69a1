package cloudstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
	"iris-gateway/testenv/fakefcm"
)

// What each answer of FCM means, through the real SDK: one attempt for each
// Send, and never the token or the text in an error.
func TestFCMAnswers(t *testing.T) {
	t.Parallel()
	server := fakefcm.Start()
	t.Cleanup(server.Close)
	fcm, err := cloudstore.OpenFCM(t.Context(), cloudstore.FCMConfig{Project: "demo-push", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fcm.Close)
	for _, tt := range []struct {
		answer  string
		failure iris.PushFailure // "" = it was taken
		detail  string
		after   time.Duration
	}{
		{"200", "", "", 0},
		{"400", iris.PushRefused, "400 INVALID_ARGUMENT", 0},
		{"401", iris.PushRefused, "401 UNAUTHENTICATED", 0},
		{"sender", iris.PushRefused, "403 SENDER_ID_MISMATCH", 0},
		{"404", iris.PushRefused, "404 NOT_FOUND", 0},
		{"unregistered", iris.PushGone, "404 UNREGISTERED", 0},
		{"429", iris.PushQuota, "429 QUOTA_EXCEEDED", 0},
		{"429 30", iris.PushQuota, "429 QUOTA_EXCEEDED", 30 * time.Second},
		{"500", iris.PushAway, "500 INTERNAL", 0},
		{"503 7", iris.PushAway, "503 UNAVAILABLE", 7 * time.Second},
		{"hang", iris.PushAway, "no answer: timeout", 0},
		{"close", iris.PushAway, "no answer: connection closed", 0},
		{"cut", iris.PushAway, "the answer broke off", 0},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			t.Parallel()
			token := "secret-token-" + strings.ReplaceAll(tt.answer, " ", "-")
			server.Answer(token, tt.answer)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := fcm.Send(ctx, token, iris.Push{
				Data: map[string]string{"body": "secret text"}, Collapse: "lane", TTL: 90 * time.Second,
			})
			var e *iris.PushError
			switch {
			case tt.failure == "" && err != nil, tt.failure != "" && !errors.As(err, &e):
				t.Fatalf("Send = %v", err)
			case e != nil && (e.Failure != tt.failure || e.Detail != tt.detail || e.RetryAfter != tt.after):
				t.Errorf("Send = %+v, want %s, %q, %v", *e, tt.failure, tt.detail, tt.after)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells a secret: %v", err)
			}
			calls := server.Calls(token)
			if len(calls) != 1 {
				t.Fatalf("%d attempts, want one", len(calls))
			}
			if c := calls[0]; c.Other || c.Priority != "high" || c.TTL != "90s" || c.Collapse != "lane" || c.Data["body"] != "secret text" {
				t.Errorf("sent %+v", c)
			}
		})
	}
}
