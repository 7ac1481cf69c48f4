import CoherenceIdentityMap
import Synchronization

/// An entity with nothing in it.
struct Leaf: Identifiable, Equatable, Sendable, Codable {
  let id: Int
  var text: String?

  init(_ id: Int, _ text: String? = nil) {
    self.id = id
    self.text = text
  }
}

/// Another one, for optional places.
struct Note: Identifiable, Equatable, Sendable {
  let id: Int
  var fields: [String: String] = [:]
}

/// Another one, for lists.
struct Item: Identifiable, Hashable, Sendable {
  let id: Int
  var key = ""
}

/// Entities in the cases of an enum.
enum Wrapper: EntityWrapper, Equatable, Sendable {
  case leaf(Leaf)
  case item(Item)
  case nothing

  func wrappedEntitiesKeyPaths<Root>(
    relativeTo parent: WritableKeyPath<Root, Self>
  ) -> [PartialIdentifiableKeyPath<Root>] {
    [.init(parent.appending(\.leaf)), .init(parent.appending(\.item))]
  }

  var leaf: Leaf? {
    get { if case .leaf(let leaf) = self { leaf } else { nil } }
    set { if let newValue { self = .leaf(newValue) } }
  }

  var item: Item? {
    get { if case .item(let item) = self { item } else { nil } }
    set { if let newValue { self = .item(newValue) } }
  }
}

/// An entity with all kinds of places.
struct Root: Aggregate, Equatable {
  let id: Int
  var text = ""
  var leaf: Leaf
  var note: Note?
  var items: [Item] = []
  var wrapper: Wrapper?

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.leaf), .init(\.note), .init(\.items), .init(wrapper: \.wrapper)]
  }
}

/// An aggregate that takes its identifier from its leaf.
struct Inner: Aggregate, Equatable {
  var id: Int { leaf.id }
  var leaf: Leaf
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.leaf)] }
}

struct Outer: Aggregate, Equatable {
  var id: Int { inner.id }
  var inner: Inner
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.inner)] }
}

/// An entity with entities of its own type in it.
struct Person: Aggregate, Equatable {
  let id: Int
  var name: String
  var friends: [Person] = []
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.friends)] }

  init(_ id: Int, _ name: String, _ friends: [Person] = []) {
    self.id = id
    self.name = name
    self.friends = friends
  }
}

/// One entity at two places.
struct Document: Aggregate, Equatable {
  let id: Int
  var author: Leaf
  var editor: Leaf
  var readers: [Leaf] = []
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.author), .init(\.editor), .init(\.readers)]
  }
}

/// An entity without an equality.
struct Opaque: Identifiable, Sendable {
  let id: Int
  var text = ""
}

extension AliasKey where T == Leaf {
  static let chosen = AliasKey(named: "chosen")
}

extension AliasKey where T == [Leaf] {
  static let all = AliasKey(named: "all")
}

extension AliasKey where T == Root {
  static let main = AliasKey(named: "main")
}

extension AliasKey where T == [Root] {
  static let roots = AliasKey(named: "roots")
}

/// Collects the values that observers receive, from any thread.
final class Received<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])

  var values: [Value] { list.withLock { $0 } }

  var count: Int { values.count }

  func append(_ value: Value) {
    list.withLock { $0.append(value) }
  }

  func clear() {
    list.withLock { $0 = [] }
  }
}

extension EntityObserver {
  /// Observes, and collects the values that follow the first one.
  func changes() -> (received: Received<T>, subscription: EntityStore.Subscription) {
    let received = Received<T>()
    let subscription = observe { received.append($0) }
    received.clear()
    return (received, subscription)
  }
}

/// A store that notifies its observers before a call returns.
func makeStore(logger: (any EntityStore.Logger)? = nil) -> EntityStore {
  EntityStore(delivery: .immediate, logger: logger)
}

/// Collects the lines that it logs.
final class Log: EntityStore.Logger {
  private let received = Received<String>()

  var lines: [String] { received.values }

  func didStore<T: Identifiable>(_ type: T.Type, id: T.ID) { received.append("stored \(type) \(id)") }

  func didFailedToStore<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {
    received.append("rejected \(type) \(id): \(error)")
  }

  func didRegisterAlias<T>(_ alias: AliasKey<T>) { received.append("alias \(alias.name)") }

  func didUnregisterAlias<T>(_ alias: AliasKey<T>) { received.append("no alias \(alias.name)") }
}
