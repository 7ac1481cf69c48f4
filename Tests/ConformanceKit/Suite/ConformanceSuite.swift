import CoherenceCore

/// The suite that every store must pass.
///
/// A backend's tests are a parameterised test over ``cases``, and one over ``faults(of:)``:
///
/// ```swift
/// @Test(arguments: ConformanceSuite.cases) func `the store conforms`(conformanceCase: ConformanceCase) async throws {
///   try await ConformanceSuite.run(conformanceCase, on: MyHarness())
/// }
/// @Test func `every skip has its case`() { #expect(ConformanceSuite.faults(of: MyHarness()) == []) }
/// ```
/// Without a test framework, ``report(on:)`` runs all of it.
public enum ConformanceSuite {
  /// The subjects, then the named guarantees.
  public static let subjects: [ConformanceSubject] = [
    .models, .modelFaults, .mergedModels, .values, .refusedValues, .objects, .committedValues, .typedObjects,
    .structuredValues,
    .derivedAttributes,
    .derivedRelations,
    .vanishedObjects, .relationships, .symmetricRelationships,
    .orderedRelationships, .walks, .membersInStore,
    .listConflicts, .listMixtures, .orderedMoves, .memberCounts, .partnerConflicts,
    .declaredClasses,
    .deleteRules, .cascades, .failedReads,
    .contexts, .childContexts, .refusedChildSaves, .announcements, .predicates, .stringPredicates,
    .quantifiers, .expressions, .numberConditions, .residualConditions, .order,
    .ranges, .fetchRequests, .aggregates, .aggregatesOfValues, .aggregatesInContexts, .aggregatesOfMembers,
    .refusedAggregates, .randomGroups, .mergePolicies, .uniqueJoins, .saveParticipants, .recordedChanges, .smallUnits,
    .costFollowsTheChange,
    .unsavedValues, .batchRequests, .batchCalculations, .batchArithmetic, .batchInserts, .batchUpserts,
    .batchReferences, .batchesOverStores,
    .readers, .readValues, .snapshots, .recordStreams, .pinnedSnapshots, .objectLists, .explanations, .cursors,
    .temporaryIdentifiers,
    .deletedTargets, .danglingReferences, .neverSavedTargets, .revertedMembers, .movedMembers, .lateReferences,
    .undoneDeletes,
    .restoredRecords,
    .fetchedProperties,
    .everyInput,
    .batchArguments,
    .requestArguments, .storeReaders,
    .rowsReadAgain, .severalStores, .storesOfNewRecords, .weakReferences, .metadata, .copies, .capabilities,
    .migration, .refusedMigration, .migrationPreviews,
    .migrationOptions, .leftOut, .renaming, .convertedTypes, .dataLoss, .badInput, .refusedSaves, .helpfulAnswers,
    .lastChanges, .hooks,
    .largeRequests,
    .hostileNames, .writerExclusion, .rowLocks, .rowLocksInUse, .claims, .signals, .liveResults,
    .atomicSave, .durableAcknowledgement, .knownOutcome, .noHiddenRetry, .oneIdentity, .conflictSeen, .snapshotRead,
    .sameMeaning, .contextIntact, .cancelIsClean, .noSilentLossOfType, .misuseIsLoud,
  ]

  /// Every case, in the order of the subjects.
  public static let cases: [ConformanceCase] = subjects.flatMap(\.cases)

  /// The skips of every case of a subject, for a store without that feature.
  public static func skips(ofArea area: String, because reason: String) -> [String: String] {
    let names = cases.filter { $0.area == area }.map(\.name)
    return Dictionary(names.map { ($0, reason) }, uniquingKeysWith: { first, _ in first })
  }

  /// The faults of a harness, or of the suite itself, as sentences: skips of missing cases, skips without a reason,
  /// cases that share a name.
  public static func faults(of harness: any StoreHarness) -> [String] {
    let names = cases.map(\.name)
    let known = Set(names)
    var seen: Set<String> = []
    let twice = names.filter { !seen.insert($0).inserted }
    let skips = harness.skips.sorted { $0.key < $1.key }
    return twice.map { "Two cases are named '\($0)'." }
      + skips.filter { !known.contains($0.key) }.map { "'\($0.key)' is skipped but there is no such case." }
      + skips.filter(\.value.isEmpty).map { "'\($0.key)' is skipped without a reason." }
  }

  /// Runs a case on a fresh, empty store.
  ///
  /// A skipped case is run too, and must fail. Otherwise its skip is not needed.
  ///
  /// - Returns: The reason why the case was skipped; `nil` when it passed.
  /// - Throws: ``ConformanceFailure`` when the case failed, or passed although it is skipped.
  @discardableResult
  public static func run(_ conformanceCase: ConformanceCase, on harness: any StoreHarness) async throws -> String? {
    let reason = harness.skips[conformanceCase.name]
    do {
      try await ConformanceStack.run(conformanceCase, on: harness)
    } catch {
      if let reason { return reason }
      throw ConformanceFailure(of: conformanceCase, on: harness.name, error)
    }
    if reason == nil { return nil }
    throw ConformanceFailure("\(conformanceCase), on \(harness.name): is skipped, but passes. Remove the skip.")
  }

  /// Runs every case, one after the other.
  public static func report(on harness: any StoreHarness) async -> ConformanceReport {
    var report = ConformanceReport(storeName: harness.name, faults: faults(of: harness))
    for conformanceCase in cases {
      do {
        let reason = try await run(conformanceCase, on: harness)
        report.results[conformanceCase.name] = reason.map(ConformanceReport.Result.skipped) ?? .passed
      } catch {
        report.results[conformanceCase.name] = .failed("\(error)")
      }
    }
    return report
  }
}
