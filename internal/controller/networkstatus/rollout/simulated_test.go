// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// simulated is a roll-out in a cluster, minute by minute, from the minute 0 on.
type simulated struct {
	minute         int
	maxUnavailable int
	nodes          []*simulatedNode
	joined         int
	progress       []availability
	// since is what must be found: since when there has been no progress.
	since int
}

type simulatedNode struct {
	name    string
	made    int
	current bool
	podMade int
	// readyAt is when its pod gets ready, if nothing comes between.
	readyAt int
}

// availability is that a pod became available.
type availability struct {
	at   int
	node *simulatedNode
}

const inNoTime = 1 << 20

func (s *simulated) join(delay int) {
	s.joined++
	s.nodes = append(s.nodes, &simulatedNode{fmt.Sprint("new", s.joined), s.minute, true, s.minute, s.minute + delay})
}

func (s *simulated) leave(i int) { s.nodes = slices.Delete(s.nodes, i, i+1) }

// replace does what the DaemonSet's controller does: there may not be more pods
// unavailable than that.
func (s *simulated) replace(delay func() int) {
	unavailable := 0
	for _, n := range s.nodes {
		if n.readyAt > s.minute {
			unavailable++
		}
	}
	for _, n := range s.nodes {
		if !n.current && unavailable < s.maxUnavailable {
			n.current, n.podMade, n.readyAt = true, s.minute, s.minute+delay()
			unavailable++
		}
	}
}

// tick lets a minute pass.
func (s *simulated) tick() {
	s.minute++
	for _, n := range s.nodes {
		if n.current && n.readyAt == s.minute {
			s.progress = append(s.progress, availability{s.minute, n})
		}
	}
	began, lacks := s.lacksSince()
	if !lacks {
		return
	}
	s.since = max(s.since, began)
	for _, a := range s.progress {
		joined, together := a.node.made >= 0, a.node.podMade <= began+10
		if a.at > began && (!joined || together && slices.Contains(s.nodes, a.node)) {
			s.since = max(s.since, a.at)
		}
	}
}

func (s *simulated) lacksSince() (began int, lacks bool) {
	began = inNoTime
	for _, n := range s.nodes {
		switch {
		case !n.current:
			began = 0
		case n.readyAt > s.minute:
			began = min(began, n.podMade)
		}
	}
	return began, began < inNoTime
}

func (s *simulated) isStalled() bool {
	_, lacks := s.lacksSince()
	return lacks && s.minute-s.since >= 10
}

func (s *simulated) time(minute int) time.Time {
	return observedAt.Add(time.Duration(minute) * time.Minute)
}

// observe is what the API server shows of it.
func (s *simulated) observe() *Rollout {
	r := &Rollout{revision: "new", started: s.time(0), desired: len(s.nodes)}
	r.nodes = func() (map[string]time.Time, error) {
		made := map[string]time.Time{}
		for _, n := range s.nodes {
			made[n.name] = s.time(n.made)
		}
		return made, nil
	}
	for _, n := range s.nodes {
		pod := podOn(n.name, -n.podMade, unready(-n.podMade))
		if n.readyAt <= s.minute {
			pod = podOn(n.name, -n.podMade, ready(-n.readyAt), container(0, -n.readyAt))
		}
		if !n.current {
			outdated(&pod)
		}
		pod.Status.StartTime = &metav1.Time{Time: s.time(n.podMade)}
		r.Add([]corev1.Pod{pod}, s.time(s.minute))
	}
	return r
}

// stuck are the nodes that hold it up.
func (s *simulated) stuck() []string {
	var nodes []string
	for _, n := range s.nodes {
		if n.readyAt > s.minute && s.minute-n.podMade >= 10 {
			nodes = append(nodes, n.name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// A roll-out is named if, and only if, for ten minutes no pod was replaced and became
// available while some are missing, whatever nodes join and leave. A process that was
// started again knows no less, but for what nodes have taken with them.
func TestAStallIsReportedWhenARollOutHangsAndOnlyThen(t *testing.T) {
	var hung, went int
	rapid.Check(t, func(t *rapid.T) {
		delay := func() int {
			return rapid.SampledFrom([]int{1, 1, 1, 2, 4, 9, 14, inNoTime}).Draw(t, "minutes until ready")
		}
		s := &simulated{maxUnavailable: rapid.IntRange(1, 3).Draw(t, "maxUnavailable")}
		for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
			s.nodes = append(s.nodes, &simulatedNode{fmt.Sprint("n", i), -60, false, -60, -59})
		}
		var known time.Time
		for range 60 {
			switch rapid.SampledFrom([]string{"", "", "join", "leave", "cure", "halt"}).Draw(t, "event") {
			case "join":
				s.join(rapid.SampledFrom([]int{1, 1, 1, 3, inNoTime}).Draw(t, "minutes until the new is ready"))
			case "leave":
				if len(s.nodes) > 1 {
					s.leave(rapid.IntRange(0, len(s.nodes)-1).Draw(t, "which leaves"))
				}
			case "cure":
				n := s.nodes[rapid.IntRange(0, len(s.nodes)-1).Draw(t, "which is cured")]
				n.readyAt = min(n.readyAt, s.minute+1)
			case "halt":
			default:
				s.replace(delay)
			}
			s.tick()
			now := s.time(s.minute)
			stall, since, err := s.observe().Stall(known, now)
			if err != nil {
				t.Fatal(err)
			}
			if known = since; (stall != "") != s.isStalled() {
				t.Fatalf("minute %d: since minute %d there has been no progress, but the report is %q", s.minute, s.since, stall)
			}
			if again, _, _ := s.observe().Stall(time.Time{}, now); stall != "" && again == "" {
				t.Fatalf("minute %d: %q is forgotten by a restart", s.minute, stall)
			}
			if stuck := s.stuck(); stall != "" && len(stuck) > 0 && !strings.HasSuffix(stall, nodeList(stuck)) {
				t.Fatalf("minute %d: %v hold it up, but the report is %q", s.minute, stuck, stall)
			}
			if stall == "" {
				went++
			} else {
				hung++
			}
		}
	})
	if hung == 0 || went == 0 {
		t.Fatalf("of the minutes, %d hung and %d went", hung, went)
	}
}
