// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A restoration that fails is repeated as a gardenlet repeats it, from the
// beginning, and comes through.
func TestARestorationIsRepeated(t *testing.T) {
	Shows(t, "N9", "N37")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	p.deploys()
	p.ready()
	saved, err := p.gardenlet.Save(t.Context())
	p.Expect(err).NotTo(HaveOccurred())
	p.observer.forget()
	p.Expect(p.gardenlet.Migrate(t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitMigrated(t.Context())).To(Succeed())

	restores := func() {
		p.observer.forget()
		p.Expect(p.gardenlet.Restore(t.Context(), saved)).To(Succeed())
	}
	// It comes back to where it was: the Network is still there.
	p.wants("mode", "unsupported")
	restores()
	p.becomes("Restore", "Error")
	gaveUp := p.givesUp()
	p.Expect(gaveUp.Polls).To(Equal(7))
	p.Expect(p.now().Annotations).To(HaveKeyWithValue("gardener.cloud/operation", "restore"))

	p.wants("mode", "second")
	release := p.resources.Hold()
	restores()
	p.becomes("Restore", "Processing")
	p.Expect(p.givesUp().Last.Message).To(HavePrefix("error during reconciliation: "))
	restores()
	p.becomes("Restore", "Processing")
	release()
	p.ready()
	p.Expect(p.mode()).To(Equal("second"))
	restores() // the gardenlet was ended just before it heard of it
	p.ready()
	p.deploys()
	p.ready()
	p.Expect(string(p.now().Status.LastOperation.Type)).To(Equal("Reconcile"))
}

// What has no state is restored as well, and so is what was never deployed.
func TestARestorationWithoutState(t *testing.T) {
	Shows(t, "N9", "N37")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	p.observer.forget()
	p.Expect(p.gardenlet.Restore(t.Context(), nil)).To(Succeed())
	p.ready()
	p.Expect(p.mode()).To(Equal("first"))
	isDeleted(p)
}
