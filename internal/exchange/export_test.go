// SPDX-License-Identifier: Apache-2.0

package exchange

// Reaches is reaches.
var Reaches = reaches
