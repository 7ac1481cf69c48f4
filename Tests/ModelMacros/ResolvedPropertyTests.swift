import CoherenceInMemory
import CoherenceModelMacros
import Testing

/// The kinds of postings, a type of the application.
enum PostingKind: String, Codable, CaseIterable, AttributeConvertible {
  case debit, credit
}

/// An entity whose relationships and attributes have no annotation.
@Entity final class Posting: ManagedObject {
  var amount = 0
  var kind: PostingKind = .debit
  var formerKind: PostingKind?
  var ledger: Ledger?
  var reversal: Optional<Posting>
}

/// The destination of relationships without an annotation.
@Entity final class Ledger: ManagedObject {
  var name = ""
  @Relationship(inverse: \Posting.ledger, deleteRule: .cascade) var postings: ToMany<Posting>
  #Index<Ledger>([\.name])
}

/// An entity that inherits relationships without an annotation.
@Entity class Letter: ManagedObject {
  var title = ""
  var answer: Letter?

  convenience init(context: ManagedObjectContext, title: String) throws {
    try self.init(context: context)
    self.title = title
  }
}

/// A subentity with a relationship without an annotation.
@Subentity final class Postcard: Letter {
  var picture: Posting?
}

/// Properties whose kind the compiler finds by their types.
@Suite struct ResolvedPropertyTests {
  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel(Posting.self, Ledger.self, Letter.self, Postcard.self)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  @Test func `a plain property with the class of an entity is a relationship with the inverse of the other side`()
    throws
  {
    let entity = try context.performAndWait { try Posting(context: context).entity }
    let ledger = try #require(entity.relationship(named: "ledger"))
    #expect(!ledger.isToMany && ledger.isOptional)
    #expect(ledger.destination.name == "Ledger")
    #expect(ledger.inverse?.name == "postings")
    #expect(entity.relationship(named: "reversal")?.inverse == nil)
    #expect(entity.attributes.map(\.name) == ["amount", "kind", "formerKind"])
    #expect(entity.attributes.map(\.isOptional) == [false, false, true])
  }

  @Test func `a plain relationship keeps its target, and typed requests follow it`() throws {
    try context.performAndWait {
      let ledger = try Ledger(context: context)
      ledger.name = "Main"
      let (first, second) = (try Posting(context: context), try Posting(context: context))
      (first.ledger, first.formerKind, second.reversal) = (ledger, .credit, first)
      try context.save()
      context.refreshAll()
      #expect(first.ledger === ledger && first.kind == .debit && first.formerKind == .credit)
      #expect(second.ledger == nil && second.reversal === first)
      #expect(ledger.postings.map(\.objectID) == [first.objectID])
      let request = FetchRequest(Posting.self).filter { $0.ledger.name == "Main" && $0.kind == .debit }
      #expect(try context.fetch(request) == [first])
      context.delete(ledger)
      try context.save()
      #expect(first.isDeleted)
    }
  }

  @Test func `a snapshot has the identifier of the target of a plain relationship`() throws {
    try context.performAndWait {
      let ledger = try Ledger(context: context)
      let posting = try context.insert(Posting.Snapshot(amount: 3, ledger: ledger.objectID))
      #expect(posting.ledger === ledger && posting.kind == .debit)
      let snapshot = try posting.snapshot()
      let target: ManagedObjectID? = snapshot.ledger
      #expect(target == ledger.objectID)
      let card = try Postcard(context: context, title: "Rome")
      (card.answer, card.picture) = (card, posting)
      #expect(try card.snapshot().answer == card.objectID)
      #expect(try card.snapshot().title == "Rome")
      #expect(try card.snapshot().picture == posting.objectID)
    }
  }
}
