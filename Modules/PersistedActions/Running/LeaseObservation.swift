/// The claims of other workers, each with the time at which this worker first read its present number of heartbeats.
///
/// The times come from this worker's clock for intervals. Changes of a computer's date therefore never make a living
/// worker seem stopped.
struct LeaseObservation {
  private var firstSeen: [ObservedLease: Duration] = [:]
  /// The time of the last read of the claims.
  private(set) var lastLook: Duration?

  /// Whether other workers may have claimed actions since the last read.
  private var isOutdated = false

  /// Whether the claims must be read again: other workers had claims at the last read, or may have claimed actions
  /// since.
  var needsLook: Bool { isOutdated || !firstSeen.isEmpty }

  /// Records that other workers may have claimed actions since the last read. Call it when this worker wakes for a
  /// signal or a due date, which wake the other workers too.
  mutating func expectClaims() { isOutdated = true }

  /// Adds a read of the claims.
  ///
  /// - Returns: The claims whose workers have sent no heartbeat for a whole lease.
  mutating func note(_ leases: Set<ObservedLease>, at time: Duration, leaseLength: Duration) -> Set<ObservedLease> {
    lastLook = time
    isOutdated = false
    firstSeen = Dictionary(uniqueKeysWithValues: leases.map { ($0, firstSeen[$0] ?? time) })
    return leases.filter { lease in firstSeen[lease].map { time - $0 >= leaseLength } ?? false }
  }

  /// Removes claims after their actions were taken over.
  mutating func remove(_ leases: Set<ObservedLease>) {
    for lease in leases { firstSeen[lease] = nil }
  }
}

/// The other workers without an action, each with the time at which this worker first read its present number of
/// heartbeats.
///
/// A killed worker without an action leaves only its record in the store. No claim of the worker expires, so only this
/// observation finds the record for its deletion.
struct WorkerObservation {
  private var firstSeen: [ObservedWorker: Duration] = [:]

  /// Adds a read of the idle workers.
  ///
  /// - Returns: The workers without a heartbeat for a whole lease.
  mutating func note(_ workers: Set<ObservedWorker>, at time: Duration, leaseLength: Duration) -> Set<ObservedWorker> {
    firstSeen = Dictionary(uniqueKeysWithValues: workers.map { ($0, firstSeen[$0] ?? time) })
    return workers.filter { worker in firstSeen[worker].map { time - $0 >= leaseLength } ?? false }
  }
}
