import CoherenceCore
import CoherenceStrategies
import Synchronization
import Testing

/// Setters that release an object of the program, whose `deinit` uses the object with the setter.
@Suite struct ReplacedObjectTests {
  /// The texts that released objects have written.
  private final class Log: Sendable {
    let texts = Mutex<[String]>([])
    func write(_ text: String) { texts.withLock { $0.append(text) } }
  }

  /// An object that calls a closure at its release.
  private final class Guest: Sendable {
    private let released: @Sendable () -> Void
    init(released: @escaping @Sendable () -> Void) { self.released = released }
    deinit { released() }
  }

  private let log = Log()

  @Test func `the deinit of an object in a replaced merge policy reads the context`() {
    let context = ManagedObjectContext()
    context.name = "A"
    func policy() -> MergePolicy {
      let guest = Guest { [log, weak context] in log.write(context?.name ?? "") }
      return .custom { _ in
        _ = guest
        return nil
      }
    }
    context.mergePolicy = policy()
    context.mergePolicy = .storeTrumps
    #expect(log.texts.withLock { $0 } == ["A"])
  }

  @Test func `the deinit of an object in a replaced fault policy reads the context`() {
    let context = ManagedObjectContext()
    context.name = "A"
    func policy() -> FaultPolicy {
      let guest = Guest { [log, weak context] in log.write(context?.name ?? "") }
      return .report(after: 1) { _ in _ = guest }
    }
    context.faultPolicy = policy()
    context.faultPolicy = .load
    #expect(log.texts.withLock { $0 } == ["A"])
  }

  @Test func `the deinit block of a replaced parent reads the child`() {
    let child = ManagedObjectContext()
    child.name = "A"
    func parent() -> BackgroundContext {
      let parent = BackgroundContext()
      parent.deinitBlock = { [log, weak child] in log.write(child?.name ?? "") }
      return parent
    }
    child.parent = parent()
    child.parent = nil
    #expect(log.texts.withLock { $0 } == ["A"])
  }

  @Test func `the deinit of an object in a replaced deinit block reads the context's block`() {
    let context = BackgroundContext()
    func block() -> @Sendable () -> Void {
      let guest = Guest { [log, weak context] in log.write(context?.deinitBlock == nil ? "no block" : "a block") }
      return { _ = guest }
    }
    context.deinitBlock = block()
    context.deinitBlock = nil
    #expect(log.texts.withLock { $0 } == ["no block"])
  }
}
