// SPDX-License-Identifier: Apache-2.0

// Command helm stands in for Helm in tests of documents. It knows one of its commands, renders with
// Helm's library, and applies with the kubectl in PATH:
//
//	helm upgrade --install NAME CHART --namespace NAMESPACE --create-namespace --values FILE
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/test/helm"
)

func main() {
	root := &cobra.Command{Use: "helm", SilenceUsage: true}
	root.AddCommand(upgrade())
	if root.Execute() != nil {
		os.Exit(1)
	}
}

func upgrade() *cobra.Command {
	var namespace, values string
	cmd := &cobra.Command{
		Use:  "upgrade NAME CHART",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return install(cmd.Context(), args[0], args[1], namespace, values)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&namespace, "namespace", "default", "")
	flags.StringVar(&values, "values", os.DevNull, "")
	install, create := flags.Bool("install", false, ""), flags.Bool("create-namespace", false, "")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !*install || !*create {
			return fmt.Errorf("--install and --create-namespace are required: there is no release yet, and no namespace")
		}
		return nil
	}
	return cmd
}

func install(ctx context.Context, name, chart, namespace, values string) error {
	archive, err := os.ReadFile(chart)
	if err != nil {
		return err
	}
	given, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	objects, err := helm.Release{Chart: archive, Name: name, Namespace: namespace, Values: string(given)}.Render(ctx)
	if err != nil {
		return err
	}
	var manifests bytes.Buffer
	fmt.Fprintf(&manifests, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", namespace)
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		manifests.WriteString("---\n")
		manifests.Write(document)
	}
	apply := exec.CommandContext(ctx, "kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-")
	apply.Stdin, apply.Stdout, apply.Stderr = &manifests, os.Stdout, os.Stderr
	return apply.Run()
}
