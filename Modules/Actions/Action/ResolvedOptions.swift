import CoherenceCore
import Synchronization

/// The options of an action with options, and their consequences.
final class ActionTerms: Sendable {
  /// Without the dependencies.
  let options: ActionOptions
  /// What makes the action equal to others, which must be of its type.
  let identity: ActionIdentity?

  private let content: Mutex<Content>

  private struct Content {
    var obstacles: Obstacles
    var priority: ActionPriority
  }

  /// The actions to finish first.
  struct Obstacles {
    /// The actions that have to succeed, unless the options say otherwise.
    var dependencies: [AnyActionHandle]
    /// Equal actions, which may end in any way.
    var predecessors: [AnyActionHandle] = []

    var all: [AnyActionHandle] { dependencies + predecessors }
  }

  init(_ options: ActionOptions, of action: any Action) {
    content = Mutex(Content(obstacles: Obstacles(dependencies: options.dependencies), priority: options.priority))
    var options = options
    options.dependencies = []
    self.options = options
    identity = options.uniqueKey.map { ActionIdentity(type: ObjectIdentifier(type(of: action)), key: $0) }
  }

  var obstacles: Obstacles { content.withLock { $0.obstacles } }

  /// Releases the obstacles: a reference to the last of many actions in a row would keep them all.
  func takeObstacles() -> Obstacles {
    content.withLock { content in
      defer { content.obstacles = Obstacles(dependencies: []) }
      return content.obstacles
    }
  }

  /// The action begins after an equal one, and after the equal ones that that one was to begin after.
  func follow(_ equal: AnyActionHandle) {
    let earlier = equal.terms?.obstacles.predecessors ?? []
    content.withLock { $0.obstacles.predecessors = earlier + [equal] }
  }

  /// The priority of the options, or a higher one that a joining submission asked for.
  var priority: ActionPriority { content.withLock { $0.priority } }

  /// - Returns: Whether the priority was lower.
  func raise(to priority: ActionPriority) -> Bool {
    content.withLock { content in
      guard content.priority < priority else { return false }
      content.priority = priority
      return true
    }
  }
}

/// An action's type and key.
struct ActionIdentity: Sendable, Hashable {
  let type: ObjectIdentifier
  let key: ActionKey
}

/// What a handle is made with, besides the action.
struct ActionSubmission {
  typealias Completion = @Sendable (any ActionProxy) -> Void

  let queue: ActionQueue
  let dispatcher: ActionDispatcher
  let entity: EntityDescription?
  let terms: ActionTerms?
  let completions: [Completion]
}
