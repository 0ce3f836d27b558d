// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The keys of a filled Secret.
const (
	keyToken      = "token"
	keyKubeconfig = "kubeconfig"
	keyBundle     = "bundle.crt"
)

// content is what a filled Secret has.
type content struct {
	token  string
	bundle []byte
	// kubeconfig, if there is one, has the token in place of the key for tokens.
	kubeconfig *clientcmdapi.Config
	// encoded is the kubeconfig with the token it had.
	encoded     []byte
	encodedWith string
}

// contentOf reads the token in the Secret that has it. A kubeconfig may be there,
// or still in the Secret that asks for the token.
func contentOf(holder, asking map[string][]byte) (*content, error) {
	c := &content{encoded: holder[keyKubeconfig]}
	if len(c.encoded) == 0 {
		c.encoded = asking[keyKubeconfig]
	}
	if len(c.encoded) == 0 {
		c.token = string(holder[keyToken])
		return c, nil
	}
	parsed, err := clientcmd.Load(c.encoded)
	if err != nil {
		return nil, fmt.Errorf("its value is not a kubeconfig: %w", err)
	}
	c.kubeconfig = parsed
	user, err := userOf(parsed)
	if err != nil {
		return nil, err
	}
	c.token, c.encodedWith = user.Token, user.Token
	return c, nil
}

// userOf returns the user of a kubeconfig's current context, which may have
// nothing in it yet.
func userOf(config *clientcmdapi.Config) (*clientcmdapi.AuthInfo, error) {
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return nil, fmt.Errorf("current-context is %q, and there is no such context in the kubeconfig", config.CurrentContext)
	}
	if current.AuthInfo == "" {
		return nil, errors.New("the current context of the kubeconfig must name a user, which then gets the token")
	}
	if config.AuthInfos[current.AuthInfo] == nil {
		config.AuthInfos[current.AuthInfo] = clientcmdapi.NewAuthInfo()
	}
	return config.AuthInfos[current.AuthInfo], nil
}

// into returns a Secret's data with the content in it. What else is there stays.
func (c *content) into(data map[string][]byte) map[string][]byte {
	all := maps.Clone(data)
	if all == nil {
		all = map[string][]byte{}
	}
	maps.Copy(all, c.data())
	return all
}

// data is the content by its keys. A kubeconfig is encoded anew only if it gets
// another token.
func (c *content) data() map[string][]byte {
	data := map[string][]byte{}
	if len(c.bundle) > 0 {
		data[keyBundle] = c.bundle
	}
	if c.kubeconfig == nil {
		data[keyToken] = []byte(c.token)
		return data
	}
	data[keyKubeconfig] = c.encoded
	if c.token == c.encodedWith {
		return data
	}
	// It was found to have a user when it was read.
	user, _ := userOf(c.kubeconfig)
	user.Token, user.TokenFile = c.token, ""
	if encoded, err := clientcmd.Write(*c.kubeconfig); err == nil {
		data[keyKubeconfig] = encoded
	}
	return data
}

// writeTarget writes the Secret in the shoot, if it is to change.
func writeTarget(ctx context.Context, shoot client.Client, present *corev1.Secret, filled *content) error {
	if sameData(present.Data, filled.into(present.Data)) {
		return nil
	}
	secret := corev1ac.Secret(present.Name, present.Namespace).WithData(filled.data())
	if present.Type == "" {
		secret.WithType(corev1.SecretTypeOpaque)
	}
	if err := shoot.Apply(ctx, secret, fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("write the Secret %s/%s in the shoot: %w", present.Namespace, present.Name, err)
	}
	return nil
}

func sameData(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }
