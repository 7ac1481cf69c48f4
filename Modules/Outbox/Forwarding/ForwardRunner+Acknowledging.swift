import CoherenceCore
import Foundation

extension ForwardRunner {
  /// Writes the results of attempts to the stores: all of a store in one transaction, or each in a transaction of its
  /// own after a conflict with another writer or a refused value.
  ///
  /// When a store fails, its results stay in ``outcomes`` and are written again after a delay. An error with a possible
  /// cause in a single edit holds no other result back, and parks the edit when it is repeated.
  func acknowledge() async {
    let isCanceling = messages.mode == .canceling
    let now = outbox.options.now()
    let received = takeWritableOutcomes()
    let settlements = received.map { ForwardSettlement($0, options: options, now: now, isCanceling: isCanceling) }
    var unwritten: Set<ManagedObjectID> = []
    var failure: (any Error)?
    for group in settlements.grouped(byStoreOf: \.flight.head) {
      let result = await write(group)
      unwritten.formUnion(result.unwritten)
      guard let error = result.failure else { continue }
      if result.isOfStore, leaveOut(group[0].flight.head.storeIdentifier, after: error) { continue }
      failure = error
    }
    outcomes = received.filter { unwritten.contains($0.flight.head) } + outcomes
    if let failure { delay(after: failure) } else if unwritten.isEmpty { failureCount = 0 }
  }

  /// Removes and returns the results whose stores have not failed; all results if the forwarder stops.
  private func takeWritableOutcomes() -> [ForwardOutcome] {
    let isRunning = messages.mode == .running
    let received = outcomes.filter { !isRunning || !isLeftOut($0.flight.head) }
    outcomes = outcomes.filter { isRunning && isLeftOut($0.flight.head) }
    return received
  }

  /// Writes the settlements of one store.
  ///
  /// - Returns: The first entries of the unwritten settlements, with the error, and whether the error is a failure of
  ///   the store.
  private func write(
    _ group: [ForwardSettlement]
  ) async -> (unwritten: Set<ManagedObjectID>, failure: (any Error)?, isOfStore: Bool) {
    var unwritten = group[...]
    var refused: Set<ManagedObjectID> = []
    var refusal: (any Error)?
    do {
      if group.count > 1, !messages.hasCrashed, let hadClaims = try await settleTogether(group) {
        finish(group, hadClaims)
        return ([], nil, false)
      }
      while let settlement = unwritten.first, !messages.hasCrashed {
        do {
          try await settleAlone(settlement)
        } catch  where Self.mayConcernOneEdit(error) {
          refusal = error
          refused.insert(settlement.flight.head)
          refusedHeads.insert(settlement.flight.head)
        }
        unwritten.removeFirst()
      }
      return (refused, refusal, false)
    } catch {
      return (refused.union(unwritten.map(\.flight.head)), error, true)
    }
  }

  /// Writes settlements in one transaction, as ``settle(_:)``.
  ///
  /// - Returns: The result of ``settle(_:)``; `nil` when each settlement needs a transaction of its own.
  private func settleTogether(_ settlements: [ForwardSettlement]) async throws -> [Bool]? {
    do {
      return try await settle(settlements)
    } catch  where ForwardClaim.isLostRace(error) || Self.mayConcernOneEdit(error) {
      return nil
    } catch  where settlements.contains(where: { Self.isSuccessorSent(error, $0) }) {
      return nil
    }
  }

  /// Writes a settlement in its own transaction, and repeats it after each conflict with another writer.
  private func settleAlone(_ settlement: ForwardSettlement) async throws {
    var settlement = settlement
    var (races, copies) = (0, 0)
    while true {
      do {
        let hadClaims = try await settle([settlement])
        return finish([settlement], hadClaims)
      } catch  where ForwardClaim.isLostRace(error) && races < 100 {
        races += 1
      } catch  where ErrorCode.uniquenessViolated ~= error && settlement.isOfInsert && copies < 3 {
        // A merge has inserted the server's record since the writer looked for copies.
        copies += 1
      } catch  where Self.isRefusal(error) && settlement.removesEntries {
        // The store refuses the server's values: the user decides. The edit is not parked as refused, because the
        // server may have applied it.
        settlement = .park(settlement.flight, error, isRefused: false)
      } catch  where Self.isRefusal(error) && settlement.restoredValues != nil {
        // The store refuses the record with the server's values: the user decides.
        settlement = .keepConflict(settlement.flight, settlement.restoredValues ?? [:])
      } catch  where Self.isSuccessorSent(error, settlement) {
        // The result of the insert of the new record with the key must not wait for the deletion.
        settlement = sendingAgain(settlement, after: error)
      } catch  where Self.isRefusal(error) && settlement.keepsConflict {
        // The store refuses the keys of the server's record, or a value that the server assigns: the entry is parked
        // without the server's values.
        settlement.consequence = .park(error: error.logText, isRefused: true)
      } catch  where Self.isRefusal(error) && settlement.isRenewal {
        // The store refuses a value that the server assigns. The server has not applied the edit.
        settlement = .park(settlement.flight, error, isRefused: true)
      } catch  where hasFailedBefore(settlement, error) {
        // The repetition has failed as well, and the store works for other edits: the user decides.
        let isUnapplied = settlement.keepsConflict || settlement.isRenewal
        settlement = .park(settlement.flight, error, isRefused: isUnapplied)
      }
    }
  }

  /// Sends a deletion again that could not give way. After the last attempt the user decides.
  private func sendingAgain(_ settlement: ForwardSettlement, after error: any Error) -> ForwardSettlement {
    let flight = settlement.flight
    let attempt = flight.content.attempt
    guard attempt < options.retry.attempts else { return .keepConflict(flight, settlement.restoredValues ?? [:]) }
    let delay = ForwardDelay(after: error, attempt: attempt, from: outbox.options.now(), options)
    return .again(flight, after: error, delay, counts: true)
  }

  /// Whether a settlement has failed again with an error that may concern its edit alone, and could park the edit.
  private func hasFailedBefore(_ settlement: ForwardSettlement, _ error: any Error) -> Bool {
    Self.mayConcernOneEdit(error) && refusedHeads.contains(settlement.flight.head) && !settlement.parks
  }

  /// Writes settlements of one store in one transaction.
  ///
  /// - Returns: For each settlement, whether this forwarder still had the claim.
  private func settle(_ settlements: [ForwardSettlement]) async throws -> [Bool] {
    let writer = ForwardSettlementWriter(outbox: outbox)
    let claim = ForwardClaim(outbox: outbox, claimant: claimant)
    let isEnding = messages.mode != .running
    let store = settlements.first?.flight.head.storeIdentifier
    let deletesConfirmations = countTransactionUntilPruning(in: store)
    return try await outbox.newContext(in: store.map { [$0] }).perform { [options = outbox.options] context in
      let shared = SharedConfirmations(in: context, besides: options.confirmations, now: options.now)
      if deletesConfirmations { try shared.deleteExpired() }
      let entries = try SettledEntries(of: settlements, claim, in: context)
      // This forwarder stops, so that other forwarders have to send the entries that become ready now.
      if isEnding { context.signalOnSave(OutboxChannel.entries) }
      var confirmations: [Confirmation] = []
      let hadClaims = try settlements.map { try writer.write($0, entries, &confirmations, in: context) }
      options.confirmations.add(confirmations)
      try shared.add(confirmations)
      if context.hasChanges { try context.save() }
      return hadClaims
    }
  }

  /// Counts a transaction of settlements down to the next pruning.
  ///
  /// - Returns: Whether it deletes expired confirmations: the first transaction does, and each after another 256.
  private func countTransactionUntilPruning(in store: StoreIdentifier?) -> Bool {
    let left = settlementsUntilPruning[store, default: 0] - 1
    settlementsUntilPruning[store] = left < 0 ? 256 : left
    return left < 0
  }

  /// Updates the counts and sends the events of settlements, after their transaction.
  ///
  /// - Parameter hadClaims: For each settlement, whether this forwarder still had the claim.
  private func finish(_ settlements: [ForwardSettlement], _ hadClaims: [Bool]) {
    needsMeasurement = true
    for (settlement, hadClaim) in zip(settlements, hadClaims) {
      let head = settlement.flight.head
      flights[head] = nil
      refusedHeads.remove(head)
      updateBacklog(after: settlement, hadClaim: hadClaim)
      let wasSent = sentHeads.remove(head) != nil
      forwarding.updateStatistics { statistics in
        if wasSent { statistics.inFlight -= 1 }
        if hadClaim { settlement.count(&statistics) } else { statistics.lost += 1 }
      }
      guard forwarding.reached(.acknowledged, settlement.flight) else { return messages.crash() }
      if hadClaim, let event = settlement.event { forwarding.send(event) }
    }
  }

  /// Subtracts the entries of a settled edit from the backlog, and asks for a search if another entry may be ready now.
  ///
  /// The search is left out only if the edit was accepted completely and the last search left no unclaimed entry. The
  /// save of any later entry has asked for a search by its signal.
  private func updateBacklog(after settlement: ForwardSettlement, hadClaim: Bool) {
    guard hadClaim, settlement.removesEntries, settlement.flight.step.deferredReferences.isEmpty else {
      hasMore = true
      backlog.counts = nil
      return
    }
    backlog.remove(settlement.flight.step)
    if backlog.hasWaitingEntries { hasMore = true }
  }

  /// Whether another edit's result may be written although this result is not: the error is no failure of the store
  /// that a repetition or a person can end. A full disk, for example, parks no edit that the server has accepted.
  private static func mayConcernOneEdit(_ error: any Error) -> Bool {
    guard let error = error as? CoherenceError else { return false }
    return !error.isRetryable && error.outcome == .notApplied && !storeFailureCodes.contains(error.code)
  }

  private static let storeFailureCodes: Set<ErrorCode> = [
    .storeFull, .inputOutput, .storeReadOnly, .storeInaccessible, .storeDetached, .noStore, .contextWithoutStore,
    .storeCorrupt, .notADatabase, .incompatibleModel, .schemaChanged, .serverUnreachable, .authenticationFailed,
    .tooManyConnections, .connectionLost, .storeBusy, .timedOut, .cancelled,
  ]

  /// Whether a deletion cannot give way yet, because a process sends the insert of a new record with its key.
  private static func isSuccessorSent(_ error: any Error, _ settlement: ForwardSettlement) -> Bool {
    settlement.restoredValues != nil && ErrorCode.illegalState ~= error
  }

  /// Whether the store refuses a value of the server, so that a repetition is useless.
  private static func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? CoherenceError, !error.isRetryable else { return false }
    return refusalCodes.contains(error.code)
  }

  private static let refusalCodes: Set<ErrorCode> = [
    .validationFailed, .uniquenessViolated, .wrongType, .invalidValue, .missingValue, .unknownProperty,
    .danglingReference, .deleteDenied,
  ]
}

extension ForwardSettlement {
  /// Whether the settlement may write an assigned key to a new record.
  fileprivate var isOfInsert: Bool { flight.step.kind == .insert }

  /// Whether the entries are deleted, because the server has applied the edit or the server's values win.
  fileprivate var removesEntries: Bool { if case .remove = consequence { true } else { false } }

  /// The server's values with which a deleted record is inserted again; `nil` if no record is.
  fileprivate var restoredValues: [String: AttributeValue]? {
    if case .restore(let values) = consequence { values } else { nil }
  }

  /// Whether the server's values become a conflict for the user.
  fileprivate var keepsConflict: Bool { if case .keepConflict = consequence { true } else { false } }

  /// Whether the edit is sent again after a conflict.
  fileprivate var isRenewal: Bool { if case .renew = consequence { true } else { false } }

  /// Whether the first entry is parked without further changes.
  fileprivate var parks: Bool { if case .park = consequence { true } else { false } }
}
