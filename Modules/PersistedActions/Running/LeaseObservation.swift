/// The claims of other workers, with the time since which they have shown no sign of life.
///
/// Times are of the worker's own clock: neither a date that is set forward nor one that is set back makes a living worker
/// seem stopped.
struct LeaseObservation {
  private var firstSeen: [ObservedLease: Duration] = [:]
  /// The time of the last look.
  private(set) var lastLook: Duration?

  /// Whether others may have claimed actions since the last look at their claims.
  private var isOutdated = false

  /// Whether another look is needed: claims of others were seen, or may have been made since the last look.
  var needsLook: Bool { isOutdated || !firstSeen.isEmpty }

  /// Notes that others may have claimed actions since the last look at their claims: the signal or the date that woke
  /// this worker has woken them too.
  mutating func expectClaims() { isOutdated = true }

  /// Notes the claims of others.
  ///
  /// - Returns: The claims without a sign of life for a whole lease.
  mutating func note(_ leases: Set<ObservedLease>, at time: Duration, leaseLength: Duration) -> Set<ObservedLease> {
    lastLook = time
    isOutdated = false
    firstSeen = Dictionary(uniqueKeysWithValues: leases.map { ($0, firstSeen[$0] ?? time) })
    return leases.filter { lease in firstSeen[lease].map { time - $0 >= leaseLength } ?? false }
  }

  /// Forgets claims that were taken over.
  mutating func remove(_ leases: Set<ObservedLease>) {
    for lease in leases { firstSeen[lease] = nil }
  }
}

/// The other workers without an action, with the time since which they have shown no sign of life.
///
/// A worker that is killed while it is idle leaves its record, and no claim that would be missed.
struct WorkerObservation {
  private var firstSeen: [ObservedWorker: Duration] = [:]

  /// Notes the idle workers.
  ///
  /// - Returns: The workers without a sign of life for a whole lease.
  mutating func note(_ workers: Set<ObservedWorker>, at time: Duration, leaseLength: Duration) -> Set<ObservedWorker> {
    firstSeen = Dictionary(uniqueKeysWithValues: workers.map { ($0, firstSeen[$0] ?? time) })
    return workers.filter { worker in firstSeen[worker].map { time - $0 >= leaseLength } ?? false }
  }
}
