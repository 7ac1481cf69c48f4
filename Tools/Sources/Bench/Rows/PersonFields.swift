import Foundation

/// The attributes of the benchmark's record, however a side represents it.
protocol PersonFields {
  var uuid: String { get }
  var firstName: String { get }
  var middleName: String { get }
  var lastName: String { get }
  var email: String { get }
  var age: Int { get }
  var score: Double { get }
  var created: Date { get }
  var isActive: Bool { get }
  var notes: String? { get }
}

extension PersonFields {
  /// Reads every attribute into one number, the same for the same values on every side.
  @inline(__always) var checksum: UInt64 {
    var sum = UInt64(truncatingIfNeeded: age)
    sum &+= UInt64(uuid.utf8.count) &* 3
    sum &+= UInt64(firstName.utf8.count) &* 5
    sum &+= UInt64(middleName.utf8.count) &* 7
    sum &+= UInt64(lastName.utf8.count) &* 11
    sum &+= UInt64(email.utf8.count) &* 13
    sum &+= score.bitPattern &* 17
    sum &+= UInt64(bitPattern: created.microseconds) &* 19
    sum &+= isActive ? 23 : 0
    if let notes { sum &+= UInt64(notes.utf8.count) &* 29 }
    return sum
  }
}

extension Sequence where Element: PersonFields {
  /// The sum of the elements' checksums: it does not depend on their order.
  var checksum: UInt64 {
    var sum: UInt64 = 0
    for person in self { sum &+= person.checksum }
    return sum
  }
}

extension Date {
  /// Microseconds since 1970, the form that every side stores.
  @inline(__always) var microseconds: Int64 { Int64((timeIntervalSince1970 * 1e6).rounded()) }

  @inline(__always) init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1e6) }
}
