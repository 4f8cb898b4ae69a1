package deploytest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// image is what the Dockerfile says of the image, as far as a process sees it.
type image struct {
	build      string   // the last RUN of the stage "build"
	buildEnv   []string // ENV of that stage
	env        []string // ENV of the image
	user       string
	entrypoint []string
	copied     string // what is copied from the stage "build"
}

// readDockerfile knows the instructions that ours has, and fails for others:
// an image that this test cannot follow is not tested.
func readDockerfile(t *testing.T) image {
	t.Helper()
	raw, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var img image
	building := false
	for line := range strings.Lines(string(raw)) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "", "#", "WORKDIR", "ARG", "EXPOSE":
		case "FROM":
			building = strings.HasSuffix(rest, " AS build")
		case "RUN":
			img.build = rest
		case "ENV":
			if building {
				img.buildEnv = append(img.buildEnv, strings.Fields(rest)...)
			} else {
				img.env = append(img.env, strings.Fields(rest)...)
			}
		case "USER":
			img.user = rest
		case "COPY":
			if from, ok := strings.CutPrefix(rest, "--from=build "); ok {
				img.copied = strings.Fields(from)[1]
			}
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &img.entrypoint); err != nil {
				t.Fatalf("ENTRYPOINT %s: %v (without brackets it needs a shell, which the image does not have)", rest, err)
			}
		default:
			t.Fatalf("Dockerfile: this test does not know %q", instruction)
		}
	}
	return img
}
