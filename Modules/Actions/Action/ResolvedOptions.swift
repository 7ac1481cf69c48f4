import CoherenceCore
import Synchronization

/// The options of one submission, and the state that follows from them: present priority and prerequisites.
///
/// Only an action with options that differ from the default has an instance.
final class ResolvedOptions: Sendable {
  /// The options without the dependencies, which are prerequisites here.
  let options: ActionOptions
  /// The identity that equal actions share; `nil` without a unique key.
  let identity: ActionIdentity?

  private let content: Mutex<Content>

  private struct Content {
    var prerequisites: Prerequisites
    var priority: ActionPriority
  }

  /// The actions to finish before the action is enqueued.
  struct Prerequisites {
    /// The actions to finish first. The action fails with a failed dependency, unless the options allow failed dependencies.
    var dependencies: [AnyActionHandle]
    /// Equal actions, which may end in any way.
    var predecessors: [AnyActionHandle] = []

    var all: [AnyActionHandle] { dependencies + predecessors }
    /// All of them, each once.
    var distinct: [AnyActionHandle] {
      var found: Set<ObjectIdentifier> = []
      return all.filter { found.insert(ObjectIdentifier($0)).inserted }
    }
  }

  init(_ options: ActionOptions, of action: any Action) {
    content = Mutex(
      Content(prerequisites: Prerequisites(dependencies: options.dependencies), priority: options.priority))
    var options = options
    options.dependencies = []
    self.options = options
    identity = options.uniqueKey.map { ActionIdentity(type: ObjectIdentifier(type(of: action)), key: $0) }
  }

  var prerequisites: Prerequisites { content.withLock { $0.prerequisites } }

  /// Returns and releases the prerequisites. Otherwise a reference to the last of a chain of actions would keep the whole
  /// chain alive.
  func releasePrerequisites() -> Prerequisites {
    content.withLock { content in
      defer { content.prerequisites = Prerequisites(dependencies: []) }
      return content.prerequisites
    }
  }

  /// Makes an equal action a predecessor of this one, together with the unfinished predecessors that the equal action
  /// has not released: an equal action that is cancelled while it waits ends before its predecessors.
  func runAfter(_ equal: AnyActionHandle) {
    // Without the finished ones: otherwise the latest of many replacements would retain all actions that were replaced
    // while the first one runs.
    let earlier = equal.resolvedOptions?.prerequisites.predecessors.filter { $0.state != .finished } ?? []
    content.withLock { $0.prerequisites.predecessors = earlier + [equal] }
  }

  /// The priority of the options, or a higher priority of a submission that joined.
  var priority: ActionPriority { content.withLock { $0.priority } }

  /// Raises the priority. A lower or equal priority changes nothing.
  ///
  /// - Returns: Whether the priority has changed.
  func raise(to priority: ActionPriority) -> Bool {
    content.withLock { content in
      guard content.priority < priority else { return false }
      content.priority = priority
      return true
    }
  }
}
