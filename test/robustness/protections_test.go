// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trellis-network/trellis/test/sandbox"
)

// protections maps what protects against hostile or broken clusters and controllers, and makes each
// user get a true answer, to a package and its test, which must fail without it. Each patch in
// planted/protections/ takes one out.
var protections = map[string]struct{ pkg, test string }{
	"404-believed":                          {"internal/shootclient", "TestGoneIsBelievedOnlyFromAnAPIServer/a page"},
	"absent-kinds-kept":                     {"internal/controller/managedresource", "TestAbsentKindsOfFormerClustersAreForgotten"},
	"addresses-not-refused":                 {"operator", "TestTheOperatorSetsItsLimits"},
	"agents-leave-undrained-nodes":          {"internal/exchange", "TestAllNodesGetThere"},
	"agents-of-both-networks-on-a-node":     {"pipeline", "TestNetworksOfTwoTypesShareACluster"},
	"agents-start-again":                    {"pipeline", "TestNetworksOfTwoTypesShareACluster"},
	"aliases-allowed":                       {"internal/strictjson", "TestYAMLThatCanGrowIsRefused"},
	"aliases-in-bundles-allowed":            {"internal/bundle", "TestSecretsAreDecoded/aliases"},
	"all-control-planes-adapted":            {"internal/controller/cloudconfig", "TestOnlyControlPlanesOnAConfiguredInfrastructureAreAdapted"},
	"all-workers-wait-for-new-shoots":       {"internal/slots", "TestNewClustersLeaveAQuarterOfTheWorkers"},
	"all-workers-wait-for-slow-networks":    {"internal/controller/network", "TestSlowClustersDoNotTakeAllWorkers"},
	"all-workers-wait-for-slow-shoots":      {"internal/slots", "TestSlowClustersShareHalfOfTheWorkers"},
	"answers-decoded-as-yaml":               {"internal/shootclient", "TestAnswersAreDecodedAsJSON"},
	"answers-decompressed":                  {"internal/shootclient", "TestCompressedAnswersAreNotDecompressed"},
	"answers-of-any-size":                   {"internal/shootclient", "TestAnEndlessAnswerIsCutOff"},
	"answers-of-any-size-together":          {"internal/shootclient", "TestManyLargeAnswersAtOnceAreRefused"},
	"answers-that-grow":                     {"internal/shootclient", "TestAnswersThatGrowWhenTheyAreDecodedAreRefused"},
	"answers-to-frames-free":                {"internal/shootclient", "TestASenderWaitsWhateverItSends"},
	"answers-with-any-number-of-objects":    {"internal/shootclient", "TestAnswersThatGrowWhenTheyAreDecodedAreRefused/more than one page"},
	"answers-without-kind-quoted":           {"internal/shootclient", "TestOnlyAStatusIsQuoted"},
	"any-code-in-metrics":                   {"internal/shootclient", "TestCodesThatNoAPIServerHasAreRefused"},
	"any-number-of-managers":                {"internal/controller/managedresource", "TestManagedFieldsThatTakeLongAreRefused/too many managers"},
	"any-server-connected-to":               {"internal/shootclient", "TestWhatIsNoAPIServerIsNotConnectedTo/404"},
	"broken-clusters-halt-updates":          {"internal/wave", "TestAClusterThatWasBrokenBeforeIsNoFailure"},
	"bundles-of-any-size":                   {"internal/bundle", "TestSecretsAreDecoded/compressed, and far too large"},
	"cache-of-any-size":                     {"internal/shootclient", "TestAShootWithTooManyObjectsIsNotWatched/told by a watch"},
	"causes-not-cut":                        {"internal/shootclient", "TestOnlySomeCausesOfAStatusAreKept"},
	"certificates-quoted":                   {"internal/shootclient", "TestNoCertificateIsQuoted/other names"},
	"cleaner-beside-agents":                 {"pipeline", "TestTheCleanerComesWhenNoAgentIsLeftOnTheNode"},
	"clocks-believed-after-a-restart":       {"internal/controller/networkstatus/connectivity", "TestARestartOfTheOperatorTurnsNothing"},
	"cloud-config-without-checksum":         {"internal/controlplane", "TestAnotherCloudConfigReplacesThePods"},
	"conditions-not-cut":                    {"internal/controller/managedresource", "TestALongAnswerIsCut"},
	"conditions-told-each-time":             {"internal/controller/managedresource", "TestAClusterThatAlternatesIsToldOfOnceInTenSeconds"},
	"configs-of-any-size":                   {"pipeline", "TestAConfigThatIsTooLongIsRefusedUnlessItIsApplied"},
	"configurations-decoded":                {"internal/controller/shoot", "TestTheInfrastructureComesBeforeTheNetworkAndTheControlPlaneAfterIt"},
	"configurations-of-others-removed":      {"internal/webhook/registration", "TestOnlyOwnConfigurationsAreRemoved"},
	"connections-without-limit":             {"internal/shootclient", "TestAServerThatEndsItsConnectionsIsNotConnectedToInALoop"},
	"controllers-without-time-limit":        {"operator", "TestTheOperatorSetsItsLimits"},
	"cordons-of-users-lifted":               {"internal/exchange", "TestANodeThatAUserHasCordonedStaysSo"},
	"corrections-without-back-off":          {"internal/controller/managedresource", "TestCorrectionsBackOff"},
	"deep-managed-fields":                   {"internal/controller/managedresource", "TestManagedFieldsThatTakeLongAreRefused/too deep"},
	"deleted-shoots-open":                   {"internal/shootclient", "TestAShootThatIsOpenedAfterItsEndIsClosed"},
	"deleted-shoots-reviewed":               {"pipeline", "TestShootsAreReviewed/deleted"},
	"deployments-being-deleted-adapted":     {"internal/webhook/controlplane", "TestDeploymentsAreAdapted/one that is being deleted"},
	"disputes-not-heeded":                   {"internal/controller/managedresource", "TestAClientThatInsists"},
	"each-failing-watch-logged":             {"internal/shootclient", "TestWatchesThatFailAreToldOnce"},
	"elements-not-counted":                  {"internal/shootclient", "TestEmptyElementsCountAsMuchAsTheyTake"},
	"elements-of-lists-not-counted":         {"internal/jsoncost", "TestDocumentsOfManyValuesAreRefused/nulls in a list"},
	"endless-pages":                         {"internal/shootclient", "TestAListWithoutEndIsEnded"},
	"endless-pages-of-pods":                 {"internal/controller/networkstatus/components", "TestPodsInPagesWithoutEndAreNotRead"},
	"errors-of-infrastructures-not-told":    {"internal/controller/shoot", "TestWhenAnExtensionObjectIsReady/an error$"},
	"errors-of-networks-not-cut":            {"internal/controller/network", "TestTheTextOfAnErrorIsCut"},
	"errors-of-shoots-not-cut":              {"internal/controller/shoot", "TestALongErrorOfAKubeconfigIsCut"},
	"errors-quoted":                         {"internal/shootclient", "TestOnlyAStatusIsQuoted/a text as an error"},
	"errors-told-each-time":                 {"internal/controller/network", "TestErrorsThatAlternateAreToldOnceInTenSeconds"},
	"events-not-gathered":                   {"internal/controller/managedresource", "TestAFloodOfEventsIsGathered"},
	"events-of-any-size":                    {"internal/shootclient", "TestAnEventThatIsTooLargeEndsTheWatch"},
	"first-contact-without-time-limit":      {"internal/shootclient", "TestTheFirstContactEndsInTime"},
	"first-watch-kept":                      {"internal/shootclient", "TestAStoppedWatchIsForgotten"},
	"flags-doubled":                         {"internal/commandline", "TestAFlagIsSetWhereItIs/another value$"},
	"former-faults-refused":                 {"pipeline", "TestShootsAreReviewed/wrong before and now"},
	"greetings-quoted":                      {"internal/shootclient", "TestWhatIsNoHTTPIsNotQuoted"},
	"headers-of-any-size":                   {"internal/shootclient", "TestLargeHeadersAreRefused"},
	"health-waits-for-lists":                {"internal/controller/managedresource", "TestAppliedBeforeANewKindIsListed"},
	"health-without-time-limit":             {"internal/controller/networkstatus", "TestTheTimeOfAReportIsLimited"},
	"hibernated-shoots-open":                {"internal/controller/managedresource", "TestTheAccessToAHibernatedShootEnds"},
	"hibernated-shoots-open-in-a-landscape": {"internal/controller/networkstatus", "TestAHibernatedClusterIsHealthy"},
	"idle-shoots-open":                      {"internal/shootclient", "TestTwoHundredShootsComeAndGoAndLeaveNothing"},
	"infrastructure-not-awaited":            {"internal/controller/shoot", "TestTheInfrastructureComesBeforeTheNetworkAndTheControlPlaneAfterIt"},
	"infrastructures-without-time-limit":    {"internal/controller/shoot", "TestWhenAnExtensionObjectIsReady/not in time"},
	"keys-of-any-length":                    {"internal/shootclient", "TestKeysThatTakeLongAreRefused"},
	"kinds-not-counted":                     {"internal/shootclient", "TestAShootMayListOnlySoManyKinds/many kinds"},
	"kubeconfigs-cached":                    {"internal/shootclient", "TestTheCacheOfTheSeedHasNoKubeconfigs"},
	"kubeconfigs-of-any-size":               {"internal/shootclient", "TestKubeconfigsThatGrowAreRefused/more than 256 kB"},
	"last-applied-cached":                   {"internal/shootclient", "TestObjectsAreCachedWithoutWhatIsNotRead"},
	"link-local-allowed":                    {"internal/shootclient", "TestAddressesThatAreNeverAClustersAreRefused"},
	"lists-not-counted":                     {"internal/jsoncost", "TestDocumentsOfManyValuesAreRefused/lists in lists"},
	"lists-of-groups-of-any-size":           {"internal/shootclient", "TestAShootMayListOnlySoManyKinds/a long list of groups"},
	"lists-of-kinds-of-any-size":            {"internal/shootclient", "TestAShootMayListOnlySoManyKinds/a long list of kinds"},
	"lists-without-time-limit":              {"internal/shootclient", "TestAListWithoutEndIsEnded"},
	"log-not-limited":                       {"operator", "TestTheOperatorSetsItsLimits"},
	"log-of-any-length":                     {"internal/loglimit", "TestLinesAboutOneClusterAreLimited"},
	"losses-told-each-time":                 {"internal/controller/managedresource", "TestLossesWithoutEndAreToldTenTimesAtOnce"},
	"managed-fields-cached":                 {"internal/shootclient", "TestObjectsAreCachedWithoutWhatIsNotRead"},
	"managedresource-without-time-limit":    {"internal/controller/managedresource", "TestTheTimeOfARunIsLimited"},
	"many-workers-wait-for-a-slow-shoot":    {"internal/controller/managedresource", "TestASlowClusterGetsOneWorker"},
	"maps-before-their-programs":            {"pipeline", "TestProgramsMountsAndTablesOfRoutesGo"},
	"messages-not-cut":                      {"internal/shootclient", "TestEachTextOfAStatusIsCut"},
	"messages-told-each-time":               {"internal/controller/managedresource", "TestAMessageAloneIsToldOnceAMinute"},
	"metadata-of-secrets-cached":            {"internal/seedclient", "TestLargeMetadataOfSecretsIsNotCached"},
	"metrics-of-former-shoots-kept":         {"internal/shootclient", "TestTwoHundredShootsComeAndGoAndLeaveNothing"},
	"metrics-with-hosts":                    {"internal/shootclient", "TestNoTimeSeriesNamesAShoot"},
	"missing-built-in-group-believed":       {"internal/shootclient", "TestGoneIsBelievedOnlyFromAnAPIServer/no built-in group"},
	"network-of-another-operator-told":      {"internal/controller/network", "TestANetworkOfAnotherOperatorIsLeftAlone"},
	"network-without-time-limit":            {"internal/controller/network", "TestAReconciliationEndsWithWhatHeldItUp"},
	"nodes-change-while-pods-do-not-talk":   {"internal/exchange", "TestOtherNodesWaitWhilePodsDoNotTalk"},
	"nulls-kept":                            {"pipeline", "TestWhatIsKeptOfAConfigHasNoNulls"},
	"older-success-believed":                {"internal/controller/shoot", "TestWhenAnExtensionObjectIsReady/an older success"},
	"one-cluster-halts-updates":             {"internal/wave", "TestAShareIsOfAllNetworks"},
	"origin-annotation-believed":            {"internal/controller/managedresource", "TestOnlyAnOwnerThatHasTheObjectCounts"},
	"owner-in-another-cluster":              {"internal/controller/managedresource", "TestOnlyAnOwnerThatHasTheObjectCounts"},
	"panic-is-success":                      {"internal/controller/network", "TestAPanicAfterEverythingWasAppliedIsNoSuccess"},
	"pending-request-forgotten":             {"internal/controller/network", "TestARequestThatComesBeforeItsClusterIsKept"},
	"pods-without-controllers-evicted":      {"internal/exchange", "TestPodsLeaveANodeThatIsDrained"},
	"policies-lose-their-effect":            {"internal/controller/network", "TestATypeStaysWhileUsersHaveObjectsThatOnlyItsNetworksActOn"},
	"policies-that-cut-off-pods-kept":       {"internal/gate", "TestPoliciesThatWouldCutOffPodsKeepTheType"},
	"probes-cut-off-by-their-policy":        {"pipeline", "TestPoliciesAreAwayWhileANetworkKnowsOnlyItsOwnPods"},
	"programs-of-kubeconfigs-run":           {"internal/shootclient", "TestKubeconfigsAreJudged"},
	"provider-status-of-any-size":           {"internal/controller/shoot", "TestOnlySoMuchOfAnInfrastructureIsPassedOn"},
	"quick-standing-kept":                   {"internal/slots", "TestAClusterThatWasQuickAndHangsIsLikeANewOne"},
	"ranges-of-infrastructures-believed":    {"internal/controller/shoot", "TestReportedRangesAreChecked"},
	"recreations-told-each-time":            {"internal/controller/managedresource", "TestThatObjectsAreRecreatedIsToldTenTimesAtOnce"},
	"redirects-followed":                    {"internal/shootclient", "TestNoRequestFollowsARedirect"},
	"reports-written-each-time":             {"internal/controller/networkstatus", "TestAClusterThatAlternatesIsWrittenOnceInTenSeconds"},
	"requests-without-rate":                 {"internal/shootclient", "TestTheRequestsToAShootAreLimited"},
	"requests-without-time-limit":           {"internal/shootclient", "TestARequestEndsInTimeWithItsBody"},
	"resolved-addresses-told":               {"internal/shootclient", "TestAddressesOfNamesAreNotTold/refused"},
	"resolved-names-not-checked":            {"internal/shootclient", "TestNamesOfRefusedAddressesAreNotConnectedTo"},
	"restored-seed-waited-for":              {"internal/controller/network", "TestANetworkOfARestoredSeedIsLookedAtWithinAMinute"},
	"retry-after-obeyed":                    {"internal/shootclient", "TestNoRequestWaitsForAsLongAsAShootAsks"},
	"routes-not-awaited":                    {"internal/controller/network", "TestANetworkReliesOnRoutesOnceAllNodesHaveThem/all"},
	"routes-of-agents-kept":                 {"pipeline", "TestRoutesGoWhereTheInfrastructureMakesThem"},
	"second-network-carried-out":            {"internal/controller/network", "TestASecondNetworkIsAnErrorAndTheFirstIsNotDisturbed"},
	"senders-that-do-not-wait":              {"internal/shootclient", "TestASenderWaitsWhateverItSends"},
	"slow-numbers-parsed":                   {"internal/jsoncost", "TestNumbersThatTakeLongToParseAreRefused"},
	"superseded-secrets-seen-late-stay":     {"internal/controller/network", "TestASupersededSecretThatIsSeenLateIsDeleted"},
	"templates-cached":                      {"internal/shootclient", "TestObjectsAreCachedWithoutWhatIsNotRead"},
	"too-large-conditions-not-shortened":    {"internal/controller/managedresource", "TestMessagesThatDoNotFitAreWrittenShort"},
	"too-large-inventory-not-told":          {"internal/controller/managedresource", "TestAnInventoryThatIsTooLargeIsReported"},
	"too-large-status-not-shortened":        {"internal/controller/network", "TestAStatusThatIsRefusedAsTooLargeIsWrittenShort"},
	"types-change-unasked":                  {"internal/controller/network", "TestATypeChangesOnlyIfAUserAllowsIt"},
	"types-change-with-an-overlay":          {"internal/controller/network", "TestANetworkRoutesNativelyBeforeItsTypeChanges"},
	"unanswered-error-kept":                 {"internal/controller/network", "TestASuccessRemovesAnErrorThatTheCacheDoesNotShow"},
	"uncompared-changes-admitted":           {"pipeline", "TestADefectCoversNoChangeOfTheNetworkUp"},
	"unjudged-networks-hold-up-updates":     {"internal/wave", "TestANetworkThatIsNotJudgedHoldsUpNoOther"},
	"unknown-type-not-told":                 {"internal/controller/network", "TestUnknownTypesAreErrorsWhenStandalone"},
	"updates-without-limit":                 {"internal/wave", "TestNeverMoreAreAdmittedThanTheLimit"},
	"userinfo-allowed":                      {"internal/shootclient", "TestCredentialsInURLsAreRefusedAndNotTold"},
	"users-wait-for-updates":                {"internal/controller/network", "TestAUsersChangeDoesNotWaitForAnUpdate/the config"},
	"values-not-cut":                        {"internal/fielderror", "TestLongValuesAreCut"},
	"verdict-lost-by-a-restart":             {"internal/controller/networkstatus/connectivity", "TestAVerdictOutlivesARestartWhileTheShootCannotBeObserved"},
	"verdicts-written-each-time":            {"internal/controller/networkstatus/connectivity", "TestLiesThatChangeAreWrittenRarely"},
	"version-not-checked":                   {"internal/shootclient", "TestGoneIsBelievedOnlyFromAnAPIServer/a Status without a version"},
	"waited-in-vain-from-the-beginning":     {"internal/controller/network", "TestABundleThatChangesIsAwaitedFromThenOn"},
	"wakes-up-succeeded":                    {"internal/controller/network", "TestWhatIsWrittenForAHibernatedShootIsAwaitedAfterIt"},
	"watches-with-any-rate":                 {"internal/shootclient", "TestTheWatchesOfAShootShareARate"},
	"watches-without-rate":                  {"internal/shootclient", "TestAWatchThatFloodsIsReadSlowly"},
	"webhooks-decode-anything":              {"internal/webhook", "TestRequestsThatAreTooLargeAreRefused"},
	"webhooks-of-any-load":                  {"internal/webhook", "TestLargeRequestsOfOneSenderWaitForEachOther"},
	"what-is-sent-unasked-logged":           {"internal/loglimit", "TestWhatAServerSendsUnaskedIsNotLogged"},
	"workloads-of-all-namespaces-cached":    {"internal/shootclient", "TestWorkloadsElsewhereAreNotCached"},
	"younger-owner-not-told":                {"internal/controller/managedresource", "TestTheOlderOfTwoManagedResourcesKeepsAnObject"},
	"younger-shoot-not-told":                {"internal/controller/managedresource", "TestTwoShootsWithOneCluster"},
}

// A test fails without each protection, and none fails with all.
func TestEachProtectionHasATest(t *testing.T) {
	if !*all {
		t.Skip("this compiles each patch; make robustness runs it")
	}
	box := sandbox.ForTest(t, sandbox.OfRun)
	shared, err := box.HandDown(filepath.Join(t.TempDir(), "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{} // by package
	for name, p := range protections {
		test, _, _ := strings.Cut(p.test, "/")
		tests[p.pkg] = append(tests[p.pkg], test)
		t.Run("without "+name, func(t *testing.T) {
			t.Parallel()
			compiled := compile(t, p.pkg, filepath.Join("planted/protections", name+".patch"))
			compiled.env = append(compiled.env, shared)
			began := time.Now()
			mustFail(t, p.test, compiled)
			t.Logf("%s fails after %s: %s", p.pkg, time.Since(began).Round(100*time.Millisecond), p.test)
		})
	}
	for pkg, names := range tests {
		t.Run("with all in "+pkg, func(t *testing.T) {
			t.Parallel()
			compiled := compile(t, pkg)
			compiled.env = append(compiled.env, shared)
			slices.Sort(names)
			if output, err := compiled.run("^(" + strings.Join(slices.Compact(names), "|") + ")$"); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
		})
	}
}
