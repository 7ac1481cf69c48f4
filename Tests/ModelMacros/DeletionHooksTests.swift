import CoherenceInMemory
import CoherenceModelMacros
import Synchronization
import Testing

@Entity final class Ship: ManagedObject {
  var name = ""
  @Relationship(deleteRule: .cascade) var crew: ToMany<Sailor>
}

@Entity class Sailor: ManagedObject {
  var name = ""
  @Relationship(inverse: \Ship.crew) var ship: Ship?
}

@Subentity class Officer: Sailor {
  override func didSave() { Hooks.note("didSave") }
}

@Subentity final class Captain: Officer { var medals = 0 }

/// A handwritten subclass, which inherits the declaration of an entity without hooks.
final class Cook: Sailor {
  override class var entityName: String { "Cook" }
  override class var entityDeclaration: Entity { Entity("Cook", class: Cook.self, parent: "Sailor") {} }
  override func prepareForDeletion() { Hooks.note("prepareForDeletion") }
}

private enum Hooks {
  @TaskLocal static var log: Log?
  final class Log: Sendable { let calls = Mutex<[String]>([]) }
  static func note(_ hook: String) { log?.calls.withLock { $0.append(hook) } }
}

/// The hooks of deletes that the macros find in classes.
@Suite struct DeletionHooksTests {
  private func declaration(_ body: String) -> String {
    expansion(of: "@Entity final class Track: ManagedObject { \(body) }")
  }

  private func hooks(_ list: String) -> String {
    "override class var deletionHooks: CoherenceCore.DeletionHooks { CoherenceCore.DeletionHooks(of: Track.self, "
      + "overriding: [\(list)]) }"
  }

  @Test func `a class declares the hooks of deletes that its body overrides`() {
    #expect(declaration("var title = \"\"").contains(hooks("")))
    #expect(declaration("override func willSave() {}").contains(hooks("")))
    #expect(declaration("override func didSave() {}").contains(hooks(".didSave")))
    let conditional = "#if DEBUG\noverride func prepareForDeletion() {}\n#else\noverride func didSave() {}\n#endif"
    #expect(declaration(conditional).contains(hooks(".prepareForDeletion, .didSave")))
  }

  @Test func `a class with members of unknown macros declares nothing, and one with a declaration keeps it`() {
    #expect(!declaration("#hooks").contains("deletionHooks"))
    #expect(!expansion(of: "@Entity @Audited final class Track: ManagedObject {}").contains("deletionHooks"))
    let own = "override class var deletionHooks: DeletionHooks { custom }"
    #expect(!declaration(own).contains("CoherenceCore.DeletionHooks"))
  }

  @Test func `a cascade calls the hooks of classes, of their ancestors, and of undeclared subclasses`() throws {
    let model = try ManagedObjectModel(Ship.self, Sailor.self, Officer.self, Captain.self, Cook.self)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let log = Hooks.Log()
    try context.performAndWait {
      let ship = try Ship(context: context)
      let sailors = [
        try Sailor(context: context), try Officer(context: context), try Captain(context: context),
        try Cook(context: context),
      ]
      for sailor in sailors { ship.crew.insert(sailor) }
      try context.save()
      context.reset()
    }
    try context.performAndWait {
      try Hooks.$log.withValue(log) {
        context.delete(try #require(try context.fetch(FetchRequest(Ship.self)).first))
        try context.processPendingChanges()
        #expect(context.registeredObjects.count == 4)
        try context.save()
      }
    }
    #expect(log.calls.withLock { $0.sorted() } == ["didSave", "didSave", "prepareForDeletion"])
  }
}
