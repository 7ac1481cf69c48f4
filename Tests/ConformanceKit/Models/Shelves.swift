import CoherenceCore

/// A model of relationships that keep an order on both sides.
enum Shelves {
  static let model = soundModel {
    Entity("Shelf") {
      Attribute("name", .string)
      Relationship("books", toMany: "Book", inverse: "shelves", ordered: true)
    }
    Entity("Book") {
      Attribute("name", .string)
      Relationship("shelves", toMany: "Shelf", inverse: "books", ordered: true)
    }
  }
}
