// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// browser is a page in headless Chromium, driven by the Chrome DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	calls   int
	// complaints are what the page's console got.
	complaints []string
}

// openPage opens a page, in dark or light colours. It skips the test where there is no Chromium.
func openPage(t *testing.T, page []byte, scheme string) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("the page is not opened: there is no program chromium (Debian's package chromium)")
	}
	g := NewWithT(t)
	file := t.TempDir() + "/page.html"
	g.Expect(os.WriteFile(file, page, 0o600)).To(Succeed())
	itsInput, to, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	from, itsOutput, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // the context of the test ends before it is cleaned up
	command := exec.CommandContext(ctx, program,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--window-size=1200,2000", "--user-data-dir="+t.TempDir())
	command.ExtraFiles = []*os.File{itsInput, itsOutput} // the pipe's ends have the numbers 3 and 4
	g.Expect(command.Start()).To(Succeed())
	g.Expect(itsInput.Close()).To(Succeed())
	g.Expect(itsOutput.Close()).To(Succeed())
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		b.send("Browser.close", nil)
		_ = command.Wait()
		cancel()
		_, _ = to.Close(), from.Close()
	})

	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Runtime", "Log", "Page"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	g.Eventually(func() string { return b.text("document.readyState") }).WithTimeout(time.Minute).Should(Equal("complete"))
	return b
}

// send sends a command.
func (b *browser) send(method string, parameters any) {
	b.t.Helper()
	b.calls++
	request := map[string]any{"id": b.calls, "method": method}
	if parameters != nil {
		request["params"] = parameters
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		request["sessionId"] = b.session
	}
	raw, err := json.Marshal(request)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		b.t.Fatal(err)
	}
}

// call sends a command, and waits for its answer.
func (b *browser) call(method string, parameters, result any) {
	b.t.Helper()
	b.send(method, parameters)
	for {
		raw, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("Chromium does not answer %s: %v", method, err)
		}
		var answer struct {
			ID     int
			Method string
			Error  json.RawMessage
			Result json.RawMessage
			Params json.RawMessage
		}
		if err := json.Unmarshal(raw[:len(raw)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case answer.Method == "Runtime.exceptionThrown" || answer.Method == "Runtime.consoleAPICalled" || answer.Method == "Log.entryAdded":
			b.complaints = append(b.complaints, string(answer.Params))
		case answer.ID != b.calls:
		case answer.Error != nil:
			b.t.Fatalf("%s: %s", method, answer.Error)
		default:
			if result != nil {
				if err := json.Unmarshal(answer.Result, result); err != nil {
					b.t.Fatal(err)
				}
			}
			return
		}
	}
}

// evaluate puts the value of an expression of JavaScript into result.
func (b *browser) evaluate(expression string, result any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		b.t.Fatalf("%s is %s: %v", expression, answer.Result.Value, err)
	}
}

func (b *browser) text(expression string) (value string) {
	b.t.Helper()
	b.evaluate("String("+expression+")", &value)
	return value
}

// column are the cells of the first rows of a table, in a column from 1 on.
func (b *browser) column(table string, number int) (cells []string) {
	b.t.Helper()
	b.evaluate(fmt.Sprintf(`[...document.querySelectorAll("#%s-table tbody tr > :nth-child(%d)")].slice(0, 5).map((cell) => cell.textContent)`, table, number), &cells)
	return cells
}

// focused is what has the keyboard: its id, or else its text.
func (b *browser) focused() string {
	b.t.Helper()
	return b.text("document.activeElement.id || document.activeElement.textContent.slice(0, 40)")
}

// What keys do: the code of Windows, and the character if there is one.
var keys = map[string]struct {
	code int
	text string
}{"Tab": {9, ""}, "Enter": {13, "\r"}, " ": {32, " "}, "ArrowDown": {40, ""}, "End": {35, ""}}

// press presses keys, one after the other.
func (b *browser) press(names ...string) {
	b.t.Helper()
	for _, name := range names {
		key := keys[name]
		down := map[string]any{"type": "rawKeyDown", "key": name, "code": name, "windowsVirtualKeyCode": key.code}
		if name == " " {
			down["code"] = "Space"
		}
		if key.text != "" {
			down["type"], down["text"] = "keyDown", key.text
		}
		b.call("Input.dispatchKeyEvent", down, nil)
		b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "code": down["code"], "windowsVirtualKeyCode": key.code}, nil)
	}
}

// write types a text.
func (b *browser) write(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// picture is what the page looks like, as PNG.
func (b *browser) picture() (content []byte) {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	return shot.Data
}
