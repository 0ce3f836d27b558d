// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/plugin"
)

// TestMain collects garbage less often: the suite runs a hundred times here, makes
// gigabytes of objects, and keeps a few megabytes at a time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// subject is set where the tests run as the author of a broken plugin would run them.
const subject = "PLUGINTEST_SUBJECT"

func TestSubject(t *testing.T) {
	if os.Getenv(subject) == "" {
		t.Skip("only runs as a subprocess of TestRunFailsTheTestsOfABrokenPlugin")
	}
	f := sound()
	changeAgent(func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = "agent" })(f)
	Run(t, plugin.New[config](f), soundOptions()...)
}

func TestRunFailsTheTestsOfABrokenPlugin(t *testing.T) {
	g := NewWithT(t)
	command := exec.Command(os.Args[0], "-test.run=^TestSubject$", "-test.v")
	command.Env = append(os.Environ(), subject+"=yes")
	output, err := command.CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	failed := regexp.MustCompile(`--- FAIL: TestSubject/(\S+)`).FindAllStringSubmatch(string(output), -1)
	g.Expect(failed).To(HaveLen(1), string(output))
	g.Expect(failed[0][1]).To(Equal("images"))
	g.Expect(string(output)).To(ContainSubstring(`container agent of DaemonSet kube-system/agent has the image "agent" without a tag`))
	g.Expect(string(output)).To(MatchRegexp(`NOT CHECKED.*\n(.*\n)*.*--- SKIP: TestSubject/api-server`))
	g.Expect(regexp.MustCompile(`--- PASS: TestSubject/`).FindAllString(string(output), -1)).To(HaveLen(len(checks) - 2))
}

func TestRunCannotBeginWithoutAProperCase(t *testing.T) {
	g := NewWithT(t)
	_, err := newSuite(broken{}.make(), []Option{Case{Name: "odd", Config: "{"}})
	g.Expect(err).To(MatchError(ContainSubstring(`the config of case "odd" is not YAML`)))
	_, err = newSuite(broken{}.make(), []Option{Case{Name: "one"}, Case{Name: "one"}})
	g.Expect(err).To(MatchError(ContainSubstring(`two cases are named "one"`)))
}

func TestOnlySomeOfManyProblemsArePrinted(t *testing.T) {
	g := NewWithT(t)
	r := &report{known: sets.New[string]()}
	for i := range 100 {
		r.breach("problem %d", i/2)
	}
	g.Expect(r.list()).To(HaveLen(mostProblems + 1))
	g.Expect(r.list()[mostProblems]).To(Equal("and 30 more"))
}
