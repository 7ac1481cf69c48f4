/// Claims or records of other workers, each with the time at which this worker first read its present heartbeat number.
///
/// The times come from this worker's clock for intervals. Changes of a computer's date therefore never make a living
/// worker seem stopped.
struct HeartbeatObservation<Subject: Hashable> {
  private var firstSeen: [Subject: Duration] = [:]

  var isEmpty: Bool { firstSeen.isEmpty }

  /// Adds a read of the subjects. A new heartbeat number makes another subject.
  ///
  /// - Returns: The subjects whose workers have sent no heartbeat for a whole lease.
  mutating func note(_ subjects: Set<Subject>, at time: Duration, leaseLength: Duration) -> Set<Subject> {
    firstSeen = Dictionary(uniqueKeysWithValues: subjects.map { ($0, firstSeen[$0] ?? time) })
    return subjects.filter { subject in firstSeen[subject].map { time - $0 >= leaseLength } ?? false }
  }

  mutating func remove(_ subjects: Set<Subject>) {
    for subject in subjects { firstSeen[subject] = nil }
  }
}
