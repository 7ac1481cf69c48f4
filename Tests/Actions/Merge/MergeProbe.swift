import CoherenceCore
import Synchronization

/// Counts the objects of a class.
final class ObjectCounter: Sendable {
  private let number = Atomic<Int>(0)
  var count: Int { number.load(ordering: .relaxed) }
  func add() { number.add(1, ordering: .relaxed) }
}

/// A string that runs a closure when its value is read, to interrupt a merge that reads its input.
struct ProbedText: AttributeConvertible {
  let text: String
  let probe: @Sendable () -> Void

  static var attributeType: AttributeType { .string }
  static var attributeDefault: ProbedText { ProbedText(text: "", probe: {}) }

  init(text: String, probe: @escaping @Sendable () -> Void) {
    self.text = text
    self.probe = probe
  }

  init?(attributeValue: AttributeValue) {
    guard case .string(let text) = attributeValue else { return nil }
    self.init(text: text, probe: {})
  }

  var attributeValue: AttributeValue {
    probe()
    return .string(text)
  }
}

/// A closure that runs once.
final class Once: Sendable {
  private let happened = Atomic<Bool>(false)
  private let work: @Sendable () -> Void

  init(_ work: @escaping @Sendable () -> Void) { self.work = work }

  func callAsFunction() {
    if !happened.exchange(true, ordering: .sequentiallyConsistent) { work() }
  }
}
