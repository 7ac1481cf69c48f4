import CBench
import Coherence
import Synchronization

/// Looks at the allocator when a value is asked for.
final class MemoryProbe: Sendable {
  private let seen = Atomic<Int>(0)

  var bytes: Int { seen.load(ordering: .relaxed) }

  func look() { seen.store(Int(benchAllocatedBytes()), ordering: .relaxed) }
}

/// An age that says when it is asked for.
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
