import CoherenceCore
import CoherenceInMemory
import Dispatch
import Foundation

/// A wrong use, and the advice that its message must contain. It ends the process that commits it.
struct WrongUse: Sendable, CustomStringConvertible {
  let description: String
  /// The part of the sentence that advises the user.
  let advice: String
  let commit: @Sendable () async throws -> Void

  private init(_ description: String, _ advice: String, _ commit: @escaping @Sendable () async throws -> Void) {
    self.description = description
    self.advice = advice
    self.commit = commit
  }

  static let all = outside + offMain + offThread + strangers + objects + rows

  static func described(_ description: String) -> WrongUse? { all.first { $0.description == description } }
}

// MARK: - In a wrong place

extension WrongUse {
  /// Uses of an object, or its context, where the context may not be used.
  private static let uses: [(String, @Sendable (Fan, ManagedObjectContext) throws -> Void)] = [
    ("an attribute is read", { fan, _ in _ = try fan.value(for: "name") }),
    ("an attribute is read by its accessor", { fan, _ in _ = fan[Fan.name] }),
    ("an attribute is written", { fan, _ in try fan.setValue("b", for: "name") }),
    ("an attribute is written by its accessor", { fan, _ in fan[Fan.name] = "b" }),
    ("a to-one relationship is read", { fan, _ in _ = fan[Fan.idol] }),
    ("a to-one relationship is written", { fan, _ in fan[Fan.idol] = fan }),
    ("members are counted", { fan, _ in _ = fan[Fan.followers].count }),
    ("members are walked through", { fan, _ in for _ in fan[Fan.followers] {} }),
    ("a member is added", { fan, _ in fan[Fan.followers].insert(fan) }),
    ("the identifier is read", { fan, _ in _ = fan.objectID }),
    ("the state is asked for", { fan, _ in _ = fan.hasChanges }),
    ("the object is deleted", { fan, context in context.delete(fan) }),
    ("the object is refreshed", { fan, context in context.refresh(fan, mergeChanges: true) }),
    ("the context fetches", { _, context in _ = try context.fetch(FetchRequest<Fan>(entityName: "Fan")) }),
    ("the context counts", { _, context in _ = try context.count(for: FetchRequest<Fan>(entityName: "Fan")) }),
    ("the context saves", { _, context in try context.save() }),
    ("the context rolls back", { _, context in context.rollback() }),
    ("the context is reset", { _, context in context.reset() }),
    ("the context is asked for its changes", { _, context in _ = context.hasChanges }),
  ]

  fileprivate static var outside: [WrongUse] {
    uses.map { what, use in
      WrongUse("outside of its context, \(what)", "outside of its `perform` or `performAndWait`") {
        let (context, fan) = try Fan.inContext(.privateQueue)
        try use(fan.object, context)
      }
    } + [
      WrongUse("in the block of another context, an object is read", "outside of its `perform` or `performAndWait`") {
        let (_, fan) = try Fan.inContext(.privateQueue)
        let other = try Fan.context(.privateQueue)
        _ = try other.performAndWait { try fan.object.value(for: "name") }
      },
      WrongUse("outside of its context, a list of objects is read", "outside of its `perform` or `performAndWait`") {
        _ = try Fan.list(in: Fan.context(.privateQueue))[0]
      },
      WrongUse("outside of its context, an undo history is limited", "outside of its `perform` or `performAndWait`") {
        let context = try Fan.context(.privateQueue)
        withExtendedLifetime(context) { Fan.history(in: context).groupLimit = 1 }
      },
      WrongUse("outside of its context, an undo history pauses", "outside of its `perform` or `performAndWait`") {
        let context = try Fan.context(.privateQueue)
        withExtendedLifetime(context) { Fan.history(in: context).withoutRecording {} }
      },
      WrongUse("a place is taken for the context's that is not", "outside of its `perform` or `performAndWait`") {
        let context = try Fan.context(.privateQueue)
        context.preconditionIsolated()
      },
    ]
  }

  fileprivate static var offMain: [WrongUse] {
    uses.map { what, use in
      WrongUse("off the main actor, \(what)", "off the main actor. Use `perform` or `performAndWait`") {
        let (context, fan) = try Fan.inContext(.mainQueue)
        try await Task.detached { try use(fan.object, context) }.value
      }
    }
  }
}

// MARK: - On a wrong thread

extension WrongUse {
  fileprivate static var offThread: [WrongUse] {
    uses.map { what, use in
      WrongUse("on another thread than the context's, \(what)", "belongs to a thread") {
        let (context, fan) = try Fan.inContext(.currentThread)
        Fan.onAnotherThread { try use(fan.object, context) }
      }
    } + [
      WrongUse("on another thread than the context's, a block is run", "belongs to a thread") {
        let context = try Fan.context(.currentThread)
        Fan.onAnotherThread { context.performAndWait {} }
      },
      WrongUse("on another thread than the context's, a target is read again", "belongs to a thread") {
        let (context, fan) = try Fan.inContext(.currentThread)
        fan.object[Fan.idol] = fan.object
        try context.save()
        // The context retains the target for its next reads.
        _ = fan.object[Fan.idol]
        Fan.onAnotherThread { _ = fan.object[Fan.idol] }
      },
      WrongUse("a context of a thread is taken for an executor", "cannot be an actor's executor") {
        await Resident(context: try Fan.context(.currentThread)).visit()
      },
    ]
  }
}

/// An actor that lives on a context.
private actor Resident {
  private let context: ManagedObjectContext
  nonisolated var unownedExecutor: UnownedSerialExecutor { context.asUnownedSerialExecutor() }

  init(context: ManagedObjectContext) { self.context = context }

  func visit() {}
}

// MARK: - Of a wrong kind

extension WrongUse {
  fileprivate static let strangers = [
    WrongUse("an object of another context is inserted", "get it here with `object(with:)`") {
      try Fan.withStranger { $0.insert($1) }
    },
    WrongUse("an object of another context is deleted", "get it here with `object(with:)`") {
      try Fan.withStranger { $0.delete($1) }
    },
    WrongUse("an object of another context is refreshed", "get it here with `object(with:)`") {
      try Fan.withStranger { $0.refresh($1, mergeChanges: false) }
    },
    WrongUse("an object without a context is deleted", "insert it first") {
      let context = try Fan.context(.privateQueue)
      context.performAndWait { context.delete(Fan(entity: Fan.entity, insertInto: nil)) }
    },
  ]

  fileprivate static let objects = [
    WrongUse("a context becomes its own parent", "cannot be its own parent") {
      let context = try Fan.context(.privateQueue)
      context.parent = context
    },
    WrongUse("a child becomes the parent of its parent", "cannot be its own parent") {
      let context = try Fan.context(.privateQueue)
      context.parent = ManagedObjectContext(parent: ManagedObjectContext(parent: context))
    },
    WrongUse("a deleted object is inserted again", "make a new object") {
      let context = try Fan.context(.privateQueue)
      try context.performAndWait {
        let fan = try Fan(context: context)
        try context.save()
        context.delete(fan)
        try context.save()
        context.insert(fan)
      }
    },
    WrongUse("an object of an abstract entity is made", "make an object of one of its subentities") {
      _ = ManagedObject(entity: try Fan.model.entity(named: "Being"), insertInto: nil)
    },
    WrongUse("an object is made of an entity of another class", "make objects of it with ManagedObject") {
      _ = Fan(entity: try Fan.model.entity(named: "Thing"), insertInto: nil)
    },
    WrongUse("a member is asked for at a position that there is not", "its 0 member(s) have positions from zero") {
      _ = Fan(entity: Fan.entity, insertInto: nil)[Fan.favourites][0]
    },
    WrongUse("an element is asked for behind the end of a list", "the number of its records is 1") {
      let context = try Fan.context(.privateQueue)
      let list = try Fan.list(in: context)
      context.performAndWait { _ = list[1] }
    },
    WrongUse("changes of a result are applied to the list of another", "an element for each record of `former`") {
      let (context, fan) = try Fan.inContext(.privateQueue)
      var changes = try context.changes(of: FetchRequest<Fan>(entityName: "Fan")).makeAsyncIterator()
      _ = try await changes.next()
      try context.performAndWait { _ = try Fan(context: context) }
      var list: [ManagedObjectID] = []
      try await changes.next()?.apply(to: &list)
      withExtendedLifetime(fan) {}
    },
    WrongUse("a member is moved from a position that there is not", "its 1 member(s) have positions from zero") {
      let fan = Fan(entity: Fan.entity, insertInto: nil)
      fan[Fan.favourites].append(fan)
      fan[Fan.favourites].move(from: 1, to: 0)
    },
    WrongUse("a member is removed from a position that there is not", "its 0 member(s) have positions from zero") {
      Fan(entity: Fan.entity, insertInto: nil)[Fan.favourites].remove(at: -1)
    },
    WrongUse("an initializer looks up an object", "use the context in `awakeFromFetch()`") {
      try Curious.beFetched { context in _ = context.registeredObject(with: .temporary(for: Fan.entity)) }
    },
    WrongUse("an initializer fetches", "use the context in `awakeFromFetch()`") {
      try Curious.beFetched { context in _ = try? context.fetch(FetchRequest<Curious>(entityName: "Curious")) }
    },
  ]

  fileprivate static let rows = [
    WrongUse("a row is made with too few values", "needs 3 values, one for each slot") { _ = Fan.row(values: []) },
    WrongUse("a row is made with too many values", "one value for each slot") {
      _ = Fan.row(values: Fan.entity.defaultValues + [.null])
    },
    WrongUse("a row is asked for a slot that it has not", "no such slot") {
      _ = Fan.row(values: Fan.entity.defaultValues)[99]
    },
    WrongUse("a row is asked for a slot below zero", "no such slot") {
      _ = Fan.row(values: Fan.entity.defaultValues)[-1]
    },
  ]
}

// MARK: - The model

/// An entity with a property of each kind.
private final class Fan: ManagedObject {
  static let name = AttributeKey<String>("name")
  static let idol = ToOneKey<Fan>("idol")
  static let followers = ToManyKey<Fan>("followers")
  static let favourites = OrderedToManyKey<Fan>("favourites")

  static let model: ManagedObjectModel = {
    do {
      return try ManagedObjectModel {
        Entity("Being", isAbstract: true) { Attribute("age", .int32, default: 0) }
        Entity("Fan", class: Fan.self, parent: "Being") {
          Attribute("name", .string, default: "a")
          Relationship("idol", toOne: "Fan", inverse: "followers")
          Relationship("followers", toMany: "Fan", inverse: "idol")
          Relationship("favourites", toMany: "Fan", inverse: nil, ordered: true)
        }
        Entity("Thing") { Attribute("name", .string, default: "a") }
        Entity("Curious", class: Curious.self) { Attribute("name", .string, default: "a") }
      }
    } catch {
      fatalError("\(error)")
    }
  }()
  static let entity = model.entitiesByName["Fan"]!

  static func context(_ type: ManagedObjectContext.ConcurrencyType) throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(StoreConfiguration(type: .inMemory), at: nil)
    return ManagedObjectContext(concurrencyType: type, coordinator: coordinator)
  }

  /// A list of one object, in no block of its context.
  static func list(in context: ManagedObjectContext) throws -> ObjectList<Fan> {
    try context.performAndWait {
      _ = try Fan(context: context)
      return try context.list(FetchRequest<Fan>(entityName: "Fan"))
    }
  }

  /// The undo history of a context, in no block of the context.
  static func history(in context: ManagedObjectContext) -> UndoHistory {
    let history = UndoHistory()
    context.performAndWait { context.undoHistory = history }
    return history
  }

  /// An object smuggled out of its context.
  static func inContext(_ type: ManagedObjectContext.ConcurrencyType) throws -> (ManagedObjectContext, Contraband) {
    let context = try context(type)
    return (context, try context.performAndWait { Contraband(object: try Fan(context: context)) })
  }

  /// Runs a block on another thread and waits for it.
  static func onAnotherThread(_ body: @escaping @Sendable () throws -> Void) {
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      try? body()
      isDone.signal()
    }
    isDone.wait()
  }

  static func withStranger(_ use: (ManagedObjectContext, Fan) throws -> Void) throws {
    let (context, other) = (try Fan.context(.privateQueue), try Fan.context(.privateQueue))
    try context.performAndWait { try other.performAndWait { try use(context, try Fan(context: other)) } }
  }

  static func row(values: [AttributeValue]) -> Row {
    Row.make(id: Fan(entity: entity, insertInto: nil).objectID, entity: entity, version: 1, values: values)
  }
}

/// An object whose initializer uses a context.
private final class Curious: ManagedObject {
  /// Run by the initializer. Bound by the process of one wrong use.
  @TaskLocal static var use: (@Sendable () -> Void)?

  required init(_ birth: borrowing ObjectBirth) {
    super.init(birth)
    Self.use?()
  }

  /// Fetches an object whose initializer uses the fetching context.
  static func beFetched(_ use: @escaping @Sendable (ManagedObjectContext) -> Void) throws {
    let context = try Fan.context(.privateQueue)
    try context.performAndWait {
      _ = try Curious(context: context)
      try context.save()
      // The context does not retain the saved object, so that the fetch makes an object.
      _ = try $use.withValue({ use(context) }) { try context.fetch(FetchRequest<Curious>(entityName: "Curious")) }
    }
  }
}

private struct Contraband: @unchecked Sendable {
  // Sendable: the object is not, because the tests use it on a wrong thread deliberately.
  let object: Fan
}
