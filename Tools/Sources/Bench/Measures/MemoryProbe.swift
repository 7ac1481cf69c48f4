import CBench
import Coherence
import Synchronization

/// Records the allocated memory at the time when a value is converted.
final class MemoryProbe: Sendable {
  private let seen = Atomic<Int>(0)

  var bytes: Int { seen.load(ordering: .relaxed) }

  func look() { seen.store(Int(benchAllocatedBytes()), ordering: .relaxed) }
}

/// An age whose conversion to a stored value triggers the probe.
struct ProbedAge: AttributeConvertible {
  var age: Int
  var probe: MemoryProbe?

  static var attributeType: AttributeType { .int64 }
  static var attributeDefault: ProbedAge { ProbedAge(age: 0) }

  var attributeValue: AttributeValue {
    probe?.look()
    return .int(Int64(age))
  }

  init(age: Int, probe: MemoryProbe? = nil) {
    self.age = age
    self.probe = probe
  }

  init?(attributeValue: AttributeValue) {
    guard case .int(let value) = attributeValue else { return nil }
    self.init(age: Int(value))
  }
}
