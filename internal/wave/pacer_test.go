// SPDX-License-Identifier: Apache-2.0

package wave

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// fleet are Networks whose state is nothing but their Record, with a pacer as an operator has it.
type fleet struct {
	*WithT
	*Pacer
	clock    *clocktesting.FakePassiveClock
	networks []*extensionsv1alpha1.Network
	woken    map[types.NamespacedName]bool
	err      error
}

func newFleet(t *testing.T, size int, change func(*Policy)) *fleet {
	f := &fleet{WithT: NewWithT(t), clock: clocktesting.NewFakePassiveClock(noon)}
	for i := range size {
		n := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("shoot--%03d", i), Name: "example", UID: types.UID(fmt.Sprint(i))}}
		f.networks = append(f.networks, n)
	}
	p := policy()
	if change != nil {
		change(&p)
	}
	f.operator(p)
	return f
}

// operator starts another process of the operator.
func (f *fleet) operator(p Policy) {
	f.woken = map[types.NamespacedName]bool{}
	f.Pacer = &Pacer{
		Policy: p, Clock: f.clock, RecordOf: recordOf,
		Networks: func(context.Context) ([]*extensionsv1alpha1.Network, error) { return f.networks, f.err },
		Measure:  func(types.NamespacedName, Phase) {}, Halted: func(Situation) {},
	}
	f.OnWake(func(name types.NamespacedName) { f.woken[name] = true })
}

func recordOf(n *extensionsv1alpha1.Network) *Record {
	if n.Status.State == nil {
		return nil
	}
	record := &Record{}
	if err := json.Unmarshal(n.Status.State.Raw, record); err != nil {
		panic(err)
	}
	return record
}

// store writes the state of a Network, and tells the pacer.
func (f *fleet) store(n *extensionsv1alpha1.Network, record *Record) {
	raw, err := json.Marshal(record)
	f.Expect(err).NotTo(HaveOccurred())
	n.Status.State = &runtime.RawExtension{Raw: raw}
	f.Keep(context.Background(), n, record)
}

// ask does what a reconciliation of a Network does that is outdated.
func (f *fleet) ask(n *extensionsv1alpha1.Network) Verdict {
	verdict, err := f.Admit(context.Background(), n)
	f.Expect(err).NotTo(HaveOccurred())
	record := &Record{Revision: f.Revision, Phase: Pending, Reason: verdict.Reason}
	if verdict.Admits() {
		record = f.Begin(&n.Status, f.clock.Now())
	}
	f.store(n, record)
	return verdict
}

func (f *fleet) in(phase Phase) (all []*extensionsv1alpha1.Network) {
	for _, n := range f.networks {
		if f.member(n).Record.IsOf(f.Revision, phase) {
			all = append(all, n)
		}
	}
	return all
}

// However many workers ask at once, and although the cache shows none of what they decide.
func TestNeverMoreAreAdmittedThanTheLimit(t *testing.T) {
	f := newFleet(t, 300, nil)
	admitted, lock, workers := 0, sync.Mutex{}, sync.WaitGroup{}
	for i := range 20 {
		workers.Go(func() {
			for _, n := range f.networks[i*15 : (i+1)*15] {
				if verdict, _ := f.Admit(t.Context(), n); verdict.Admits() {
					lock.Lock()
					admitted++
					lock.Unlock()
				}
			}
		})
	}
	workers.Wait()
	f.Expect(admitted).To(Equal(30))
}

// A Network whose state could not be written gives its place back.
func TestAnAdmissionThatCouldNotBeWrittenCountsNoMore(t *testing.T) {
	f := newFleet(t, 2, nil)
	f.Expect(f.Admit(t.Context(), f.networks[0])).To(Equal(Verdict{}))
	verdict, err := f.Admit(t.Context(), f.networks[1])
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(verdict.Reason).To(Equal(WaitingForOthers))
	f.Keep(t.Context(), f.networks[0], nil)
	f.Expect(f.Admit(t.Context(), f.networks[1])).To(Equal(Verdict{}))
}

// A Network whose former update is still awaited does not wait for itself.
func TestANetworkDoesNotWaitForItself(t *testing.T) {
	f := newFleet(t, 2, nil)
	f.store(f.networks[0], &Record{Revision: "old", Phase: Progressing, Since: metav1.NewTime(noon)})
	f.Expect(f.ask(f.networks[1]).Reason).To(Equal(WaitingForOthers))
	f.Expect(f.ask(f.networks[0]).Admits()).To(BeTrue())
}

// What cannot be read admits none.
func TestNothingIsAdmittedBlindly(t *testing.T) {
	f := newFleet(t, 2, nil)
	f.err = errors.New("the cache does not answer")
	_, err := f.Admit(t.Context(), f.networks[0])
	f.Expect(err).To(MatchError(ContainSubstring("the cache does not answer")))
	f.err = nil
	s := f.Assess(membersIn(), noon)
	f.Expect(s.Progressing).To(BeZero())
	f.Expect(f.ask(f.networks[0]).Admits()).To(BeTrue())
}

// A Network that is deleted gives its place to another one, and so does one of the same name that is
// created again.
func TestWhatIsGoneCountsNoMore(t *testing.T) {
	f := newFleet(t, 3, nil)
	f.Expect(f.ask(f.networks[0]).Admits()).To(BeTrue())
	f.Expect(f.ask(f.networks[1]).Admits()).To(BeFalse())
	f.networks[0] = &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--000", Name: "example", UID: "another"}}
	f.Forget(t.Context(), nameOf(f.networks[0]))
	f.Expect(f.woken).To(HaveKey(nameOf(f.networks[1])))
	f.Expect(f.ask(f.networks[1]).Admits()).To(BeTrue())
}

// Those that wait learn of a halt and of its end, and otherwise no more are woken than may be written.
func TestNetworksAreWokenWhenTheirTurnComes(t *testing.T) {
	f := newFleet(t, 30, func(p *Policy) { p.MaxFailures = intstr.FromInt32(0) })
	for _, n := range f.networks {
		f.ask(n)
	}
	f.Expect(f.in(Progressing)).To(HaveLen(3))
	f.woken = map[types.NamespacedName]bool{}
	f.store(f.in(Progressing)[0], &Record{Revision: "new", Phase: Succeeded})
	f.Expect(f.woken).To(HaveLen(1))
	f.ask(f.in(Pending)[0])

	f.woken = map[types.NamespacedName]bool{}
	broken := f.in(Progressing)[0]
	f.store(broken, &Record{Revision: "new", Phase: Failed, Since: metav1.NewTime(noon)})
	f.Expect(f.woken).To(HaveLen(26), "all are told of the halt")
	f.woken = map[types.NamespacedName]bool{}
	f.Expect(f.ask(f.in(Pending)[0]).Reason).To(Equal(RolloutHalted))
	f.Expect(f.woken).To(BeEmpty(), "nothing has changed")
	broken.Annotations = map[string]string{extensionsv1alpha1.RolloutResumedAtAnnotation: noon.Format(time.RFC3339)}
	f.Tell(t.Context())
	f.Expect(f.woken).To(HaveLen(26), "and of its end")
}

// Of those that wait, one whose annotation pauses it, and one that is no canary, are not woken in place of one that
// may be written.
func TestWhatMayNotBeWrittenIsNotWokenInPlaceOfAnother(t *testing.T) {
	f := newFleet(t, 4, nil)
	f.networks[0].Annotations = map[string]string{extensionsv1alpha1.RolloutAnnotation: extensionsv1alpha1.RolloutPause}
	f.networks[2].Labels, f.networks[3].Labels = f.CanaryLabels, f.CanaryLabels
	for _, i := range []int{2, 3, 0, 1} {
		f.ask(f.networks[i])
	}
	f.woken = map[types.NamespacedName]bool{}
	f.store(f.networks[2], &Record{Revision: "new", Phase: Succeeded})
	f.Expect(f.woken).To(Equal(map[types.NamespacedName]bool{nameOf(f.networks[3]): true}))
}

// A halt is told although no Network waits yet: in a landscape none does before gardenlet asks.
func TestAHaltIsToldBeforeAnyNetworkWaits(t *testing.T) {
	f := newFleet(t, 30, nil)
	f.networks[0].Labels = f.CanaryLabels
	var told []Situation
	f.Halted = func(s Situation) { told = append(told, s) }
	f.Expect(f.ask(f.networks[0]).Admits()).To(BeTrue())
	f.store(f.networks[0], &Record{Revision: "new", Phase: Failed, Since: metav1.NewTime(noon)})
	f.Expect(told).To(HaveLen(1))
	f.Expect(told[0].IsHalted).To(BeTrue())
}

// A whole roll-out in injected time, with an operator that restarts at random: canaries come first, never
// are more than the limit Progressing, none is Progressing for less than the soak, a failure
// beyond what is tolerated halts it, what was accepted counts no more, and in the end all
// have it.
func TestARolloutFromItsBeginningToItsEnd(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		f := newFleet(t, 100, func(p *Policy) { p.MaxFailures = intstr.FromInt32(2) })
		for _, i := range random.Perm(100)[:3] {
			f.networks[i].Labels = map[string]string{"canary": "true"}
		}
		breaks := map[int]bool{}
		for _, i := range random.Perm(100)[:8] {
			breaks[i] = f.networks[i].Labels == nil
		}
		halts := 0
		for round := 0; len(f.in(Succeeded))+len(f.in(Failed)) < 100; round++ {
			f.Expect(round).To(BeNumerically("<", 1000), "the roll-out ends")
			if random.IntN(10) == 0 {
				f.operator(f.Policy)
			}
			s := f.Assess(f.all(), f.clock.Now())
			for _, i := range random.Perm(100) {
				n := f.networks[i]
				record := recordOf(n)
				switch {
				case record == nil || record.Is(Pending):
					verdict := f.ask(n)
					isCanary := n.Labels != nil
					f.Expect(verdict.Admits() && !isCanary && len(f.canariesLeft()) > 0).To(BeFalse(), "canaries come first")
					f.Expect(verdict.Admits() && s.IsHalted).To(BeFalse(), "nothing is written while it is halted")
				case record.Is(Progressing) && breaks[i] && random.IntN(3) == 0:
					failed := record.becomes(Failed, Unhealthy, "broken", f.clock.Now())
					f.store(n, &failed)
					s = f.Assess(f.all(), f.clock.Now())
				case record.Is(Progressing) && !breaks[i]:
					judged, _ := f.Judge(*record, statusAt(ended, time.Duration(record.Since.Sub(noon)), 0, nil), f.clock.Now())
					if judged.Is(Succeeded) {
						f.Expect(f.clock.Now().Sub(record.Since.Time)).To(BeNumerically(">=", f.MinSuccessTime))
					}
					f.store(n, &judged)
				}
				f.Expect(len(f.in(Progressing))).To(BeNumerically("<=", 10))
			}
			if s = f.Assess(f.all(), f.clock.Now()); s.IsHalted && len(f.in(Progressing)) == 0 {
				halts++
				f.Expect(len(s.Failed)).To(BeNumerically(">", 2))
				f.networks[random.IntN(100)].Annotations = map[string]string{extensionsv1alpha1.RolloutResumedAtAnnotation: f.clock.Now().Format(time.RFC3339)}
			}
			f.clock.SetTime(f.clock.Now().Add(time.Minute))
		}
		f.Expect(halts).To(BeNumerically(">=", 1), "seed %d", seed)
	}
}

func (f *fleet) all() (members []Member) {
	for _, n := range f.networks {
		members = append(members, f.member(n))
	}
	return members
}

func (f *fleet) canariesLeft() []types.NamespacedName {
	s := f.Assess(f.all(), f.clock.Now())
	return s.Canaries
}
