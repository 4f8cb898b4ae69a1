package testenv

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// EnvJar names a Firestore emulator jar to use.
const EnvJar = "IRIS_FIRESTORE_JAR"

// The emulator that Google publishes for firebase-tools: version, size and
// checksum are those of lib/emulator/downloadableEmulatorInfo.json in
// firebase-tools 14.9.0. Later ones ask for Java 21.
const (
	jarURL    = "https://storage.googleapis.com/firebase-preview-drop/emulator/cloud-firestore-emulator-v1.19.8.jar"
	jarSize   = 63634791
	jarSHA256 = "9d43599ed6151199e8d604dc87fac51218e49e5f3a48519b1ae560bbe5e3382d"
)

// findJar looks for the emulator: the jar named by the user, gcloud's component,
// the cache, a download.
func findJar(ctx context.Context) (string, error) {
	if jar := os.Getenv(EnvJar); jar != "" {
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("%s: %w", EnvJar, err)
		}
		return jar, nil
	}
	if jar := gcloudJar(ctx); jar != "" {
		return jar, nil
	}
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	jar := filepath.Join(dir, filepath.Base(jarURL))
	err = locked("firestore", func() error {
		if _, err := os.Stat(jar); err == nil {
			return nil // only a checked file ever gets this name
		}
		return download(ctx, jarURL, jar, jarSize, jarSHA256)
	})
	if err != nil {
		return "", fmt.Errorf("no Firestore emulator: set FIRESTORE_EMULATOR_HOST to a running one, or `gcloud components install cloud-firestore-emulator`, or set %s to its jar (%w)", EnvJar, err)
	}
	return jar, nil
}

// gcloudJar is the jar of gcloud's component, "" without one. The SDK's folder is
// taken from where gcloud is: asking gcloud itself costs a second.
func gcloudJar(ctx context.Context) string {
	gcloud, err := exec.LookPath("gcloud")
	if err != nil {
		return ""
	}
	var roots []string
	if real, err := filepath.EvalSymlinks(gcloud); err == nil {
		roots = append(roots, filepath.Dir(filepath.Dir(real)))
	}
	const component = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
	if jar := firstFile(roots, component); jar != "" {
		return jar
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, gcloud, "info", "--format=value(installation.sdk_root)").Output()
	if err != nil {
		return ""
	}
	return firstFile([]string{strings.TrimSpace(string(out))}, component)
}

func firstFile(dirs []string, name string) string {
	for _, d := range dirs {
		if st, err := os.Stat(filepath.Join(d, name)); err == nil && st.Mode().IsRegular() {
			return filepath.Join(d, name)
		}
	}
	return ""
}

// download fetches url to path; the file appears under its name only when size
// and checksum are right.
func download(ctx context.Context, url, path string, size int64, sum string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "download-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(tmp, hash), io.LimitReader(resp.Body, size+1))
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); n != size || got != sum {
		return fmt.Errorf("%s: got %d bytes with SHA-256 %s, want %d with %s", url, n, got, size, sum)
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// emulatorArgs is how java is told to run the jar: the one for firebase-tools
// names its main class, gcloud's does not and wants the word start.
func emulatorArgs(jar string) ([]string, error) {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", jar, err)
	}
	defer z.Close()
	f, err := z.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", jar, err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Main-Class:") {
			return []string{"-jar", jar}, nil
		}
	}
	return []string{"-cp", jar, "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start"}, nil
}
