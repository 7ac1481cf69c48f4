import Coherence
import CoherenceModelMacros
import Testing

@Entity final class Invoice: ManagedObject, TypedPropertyValidating {
  var number: Int
  var sum = 0
  var isSent = false
  /// A variable of the object, which no store has.
  @Transient private(set) var title = ""

  struct Refusal: Error, CustomStringConvertible { let description: String }

  override func awakeFromFetch() { title = "Invoice \(number)" }

  override func validateForDelete() throws {
    if isSent { throw Refusal(description: "a sent invoice cannot be deleted") }
  }

  func validate(_ property: ValidatedProperty<Properties>) throws {
    try property.check(\.sum) { sum in
      if sum % 5 != 0 { throw Refusal(description: "is no multiple of five cents") }
    }
  }
}

@Suite("The article about hooks")
struct HooksGuideTests {
  private static func container() throws -> GenericPersistentContainer<ContextStrategy.Mixed> {
    let model = try ManagedObjectModel(Invoice.self, name: "Invoices")
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Invoices", managedObjectModel: model)
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    return container
  }

  @Test func `hooks fill variables, validate properties and refuse deletes`() async throws {
    let container = try Self.container()
    defer { withExtendedLifetime(container) {} }
    let id = try await container.performBackgroundTask { context in
      let invoice = try Invoice(context: context)
      invoice.number = 7
      invoice.isSent = true
      try context.save()
      return invoice.objectID
    }
    let (title, reasons) = try await container.performBackgroundTask { context in
      let invoice = try #require(try context.existingObject(with: id) as? Invoice)
      let title = invoice.title
      invoice.sum = 12
      var reasons: [String] = []
      do {
        try context.save()
      } catch let error as CoherenceError where error.code == .validationFailed {
        reasons = error.failures.map { "\($0.propertyName): \($0.reason)" }  // ["sum: is no multiple of five cents"]
      }
      context.rollback()
      context.delete(invoice)
      do {
        try context.save()
      } catch let error as CoherenceError where error.code == .validationFailed {
        reasons += error.failures.map(\.reason)
      }
      return (title, reasons)
    }
    #expect(title == "Invoice 7")
    #expect(reasons == ["sum: is no multiple of five cents", "a sent invoice cannot be deleted"])
  }
}
