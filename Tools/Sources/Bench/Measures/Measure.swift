/// A measured kind of work: the competing implementations (sides), and the goals of Coherence's side.
struct Measure {
  let name: String
  let title: String
  var unit = Unit.time
  /// The number of items in a sample, by which the sample is divided for the report.
  let items: Int
  /// The name of one item.
  let item: String
  var sides: [Side]
  var goals: [Goal]

  enum Unit: String, Codable { case time, bytes }

  /// The same measure without Coherence's sides.
  func withoutOurs() -> Measure {
    Measure(
      name: name, title: title, unit: unit, items: items, item: item, sides: sides.filter { $0.role != .ours },
      goals: [])
  }
}

/// One of the implementations of the same work.
struct Side {
  let name: String
  let role: Role
  /// Does the work once on fresh data. The sample does not include the preparation.
  let run: () throws -> Sample

  enum Role: String, Codable { case raw, grdb, ours }
}

/// The outcome of one run of one side.
struct Sample {
  /// Seconds or bytes.
  var amount: Double
  /// The checksum of the read or written rows. The sides of a measure must agree; `nil` for measures without
  /// rows.
  var checksum: UInt64?
}

/// Two sides, by name, whose ratio counts.
struct SidePair {
  let with: String
  let without: String

  init(_ with: String, over without: String) {
    self.with = with
    self.without = without
  }
}

/// The goal for Coherence's side.
enum Goal {
  /// A bound on the ratio of our median to that of the fastest side of a role.
  case ratio(to: Side.Role, atMost: Double)
  /// A bound on the ratio of medians between two sides, by name.
  case between(String, and: String, atMost: Double)
  /// A bound on the ratio of two sides, divided by the ratio of two other sides.
  case betweenRatios(SidePair, and: SidePair, atMost: Double)
  /// A bound on the median of one item, in seconds or bytes.
  case each(of: String, atMost: Double)
}
