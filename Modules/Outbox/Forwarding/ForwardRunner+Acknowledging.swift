import CoherenceCore
import Foundation

extension ForwardRunner {
  /// Writes the results of attempts to the store: all in one transaction, or each in a transaction of its own after a
  /// conflict with another writer or a refused value.
  ///
  /// When the store fails, the results stay in ``outcomes`` and are written again after a delay.
  func acknowledge() async {
    let isCanceling = messages.mode == .canceling
    let now = outbox.options.now()
    var unwritten = outcomes.map { ForwardSettlement($0, options: options, now: now, isCanceling: isCanceling) }
    let received = outcomes
    outcomes = []
    do {
      if unwritten.count > 1, let hadClaims = try await settleTogether(unwritten) {
        finish(unwritten, hadClaims)
        unwritten = []
      }
      while let settlement = unwritten.first, !messages.hasCrashed {
        try await settleAlone(settlement)
        unwritten.removeFirst()
      }
      failureCount = 0
    } catch {
      let heads = Set(unwritten.map(\.flight.head))
      outcomes = received.filter { heads.contains($0.flight.head) } + outcomes
      delay(after: error)
    }
  }

  /// Writes settlements in one transaction, as ``settle(_:)``.
  ///
  /// - Returns: The result of ``settle(_:)``; `nil` when each settlement needs a transaction of its own.
  private func settleTogether(_ settlements: [ForwardSettlement]) async throws -> [Bool]? {
    do {
      return try await settle(settlements)
    } catch  where ForwardClaim.isLostRace(error) || Self.isRefusal(error) {
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
      } catch  where Self.isRefusal(error) && settlement.keepsConflict {
        // The store refuses the keys of the server's record, or a value that the server assigns: the entry is parked
        // without the server's values.
        settlement.consequence = .park(error: error.logText, isRefused: true)
      } catch  where Self.isRefusal(error) && settlement.isRenewal {
        // The store refuses a value that the server assigns. The server has not applied the edit.
        settlement = .park(settlement.flight, error, isRefused: true)
      }
    }
  }

  /// Writes settlements in one transaction.
  ///
  /// - Returns: For each settlement, whether this forwarder still had the claim.
  private func settle(_ settlements: [ForwardSettlement]) async throws -> [Bool] {
    let writer = ForwardSettlementWriter(outbox: outbox)
    let claim = ForwardClaim(outbox: outbox, claimant: claimant)
    let isEnding = messages.mode != .running
    let deletesConfirmations = countTransactionUntilPruning()
    return try await outbox.newContext().perform { [options = outbox.options] context in
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
  private func countTransactionUntilPruning() -> Bool {
    settlementsUntilPruning -= 1
    guard settlementsUntilPruning < 0 else { return false }
    settlementsUntilPruning = 256
    return true
  }

  /// Updates the counts and sends the events of settlements, after their transaction.
  ///
  /// - Parameter hadClaims: For each settlement, whether this forwarder still had the claim.
  private func finish(_ settlements: [ForwardSettlement], _ hadClaims: [Bool]) {
    needsMeasurement = true
    for (settlement, hadClaim) in zip(settlements, hadClaims) {
      let head = settlement.flight.head
      flights[head] = nil
      updateBacklog(after: settlement, hadClaim: hadClaim)
      if let values = settlement.serverValues {
        serverValues[head] = values
      } else if settlement.endsEdit {
        serverValues[head] = nil
      }
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

  /// Whether the server's values become a conflict for the user.
  fileprivate var keepsConflict: Bool { if case .keepConflict = consequence { true } else { false } }

  /// Whether the edit is sent again after a conflict.
  fileprivate var isRenewal: Bool { if case .renew = consequence { true } else { false } }

  /// Whether no further attempt follows without the user.
  fileprivate var endsEdit: Bool {
    switch consequence {
    case .remove, .park, .keepConflict: true
    case .again, .renew, .release: false
    }
  }
}
