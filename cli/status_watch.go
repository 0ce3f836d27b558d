// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/overview"
	"github.com/trellis-network/trellis/cli/internal/table"
	"github.com/trellis-network/trellis/cli/internal/text"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/pipeline"
)

const (
	// redrawPeriod is how often a terminal shows the present ages.
	redrawPeriod = 2 * time.Second
	// Escape sequences of terminals: to the upper left corner, to the end of the line, and to the
	// end of the screen.
	home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
)

// statusWatch follows Networks.
type statusWatch struct {
	*statusOptions
	in           *access
	pipeline     *pipeline.Pipeline
	name         string
	to, problems io.Writer

	known map[client.ObjectKey]overview.Network
	// draws reports whether the output is a terminal to draw on, and drawn is what it shows.
	draws bool
	drawn string
	// problem is what the watch failed for last, as it was told.
	problem string
}

// seen is a change of a Network, or a failure to watch.
type seen struct {
	network *extensionsv1alpha1.Network
	gone    bool
	err     error
}

// run follows Networks until ctx ends, or the output cannot be written.
func (w *statusWatch) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(logr.NewContext(ctx, logr.Discard())) // the client's log is not for users
	defer stop()
	w.known = map[client.ObjectKey]overview.Network{}
	w.draws = terminalOf(w.to).isOne && w.format == "text"
	changes := make(chan seen)
	tell := func(s seen) {
		select {
		case changes <- s:
		case <-ctx.Done():
		}
	}
	networks, err := w.networks(func(err error) { tell(seen{err: err}) })
	if err != nil {
		return err
	}
	informer := cache.NewSharedInformer(networks, &extensionsv1alpha1.Network{}, 0)
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { tell(seen{err: err}) }) // fails once it runs
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell(seen{network: object.(*extensionsv1alpha1.Network)}) },
		UpdateFunc: func(_, object any) { tell(seen{network: object.(*extensionsv1alpha1.Network)}) },
		DeleteFunc: func(object any) {
			if unknown, is := object.(cache.DeletedFinalStateUnknown); is {
				object = unknown.Obj
			}
			tell(seen{network: object.(*extensionsv1alpha1.Network), gone: true})
		},
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	redraw := time.NewTicker(redrawPeriod)
	defer redraw.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case change := <-changes:
			err = w.take(change)
		case <-redraw.C:
			err = w.draw()
		}
		if err != nil {
			return err
		}
	}
}

// networks lists and watches the namespace. A reflector repeats a watch that a server does not begin
// without a word, so failed is called with the error.
func (w *statusWatch) networks(failed func(error)) (*cache.ListWatch, error) {
	config := rest.CopyConfig(w.in.config)
	config.Timeout = 0 // a watch stays open
	seed, err := client.NewWithWatch(config, client.Options{Scheme: seedclient.Scheme()})
	if err != nil {
		return nil, err
	}
	where := client.InNamespace(w.in.namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &extensionsv1alpha1.NetworkList{}
			return list, seed.List(ctx, list, where, &client.ListOptions{Raw: &options})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			networks, err := seed.Watch(ctx, &extensionsv1alpha1.NetworkList{}, where, &client.ListOptions{Raw: &options})
			if err != nil {
				failed(err)
			}
			return networks, err
		},
	}, nil
}

// take takes a change into account, and shows it.
func (w *statusWatch) take(change seen) error {
	if change.err != nil {
		if problem := change.err.Error(); problem != w.problem {
			w.problem = problem
			return written(fmt.Fprintln(w.problems, text.Printable("watch the Networks of the seed "+w.in.server+": "+problem+"; status tries again")))
		}
		return nil
	}
	n, key := change.network, client.ObjectKeyFromObject(change.network)
	if !isOfShoot(n) || w.name != "" && n.Name != w.name {
		return nil
	}
	w.problem = ""
	told := overview.Of(n, w.pipeline)
	before, was := w.known[key]
	if change.gone {
		delete(w.known, key)
		told.State = overview.Gone
	} else if w.known[key] = told; was && reflect.DeepEqual(before, told) {
		return nil
	}
	if w.draws {
		return w.draw()
	}
	return w.print(told)
}

// print prints a Network that has changed.
func (w *statusWatch) print(told overview.Network) error {
	var shown string
	var err error
	switch {
	case w.format == formatJSON:
		var raw []byte
		raw, err = json.Marshal(told)
		shown = string(text.JSON(raw)) + "\n"
	case w.format == formatYAML:
		shown, err = encoded(told, formatYAML)
		shown = "---\n" + shown
	case told.State == overview.Gone:
		shown = text.OneLine(told.Namespace+"/"+told.Name) + "  gone\n\n"
	default:
		shown, err = w.shown([]overview.Network{told}, 0, time.Now())
		shown += "\n"
	}
	if err != nil {
		return err
	}
	return written(io.WriteString(w.to, shown))
}

// draw draws all Networks on the terminal, as many lines as it has.
func (w *statusWatch) draw() error {
	if !w.draws {
		return nil
	}
	on := terminalOf(w.to)
	if !on.isOne {
		return &ioError{errors.New("the terminal is gone")}
	}
	networks := make([]overview.Network, 0, len(w.known))
	for _, told := range w.known {
		networks = append(networks, told)
	}
	slices.SortFunc(networks, func(a, b overview.Network) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	shown, err := w.shown(networks, on.width, time.Now())
	if err != nil {
		return err
	}
	if len(networks) == 0 {
		shown = "no Network\n"
	}
	lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
	if more := len(lines) - on.height + 1; more > 0 && on.height > 1 {
		lines = append(lines[:on.height-1], fmt.Sprintf("… and %s; name a Network to see only that", count(more, "more line")))
	}
	drawn := home
	for i, line := range lines {
		if i > 0 {
			drawn += "\r\n"
		}
		drawn += table.Cut(line, on.width) + clearLine
	}
	if drawn += clearBelow; drawn == w.drawn {
		return nil
	}
	w.drawn = drawn
	return written(io.WriteString(w.to, drawn))
}
