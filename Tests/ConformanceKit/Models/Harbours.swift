import CoherenceCore

/// The model of random groups: cargoes with an attribute of every type, in harbours and with crates.
enum Harbours {
  static let model = soundModel {
    places
    goods
  }

  @EntitiesBuilder private static var places: [Entity] {
    Entity("Region") {
      Attribute("number", .int32)
      Attribute("title", .string, optional: true)
      Relationship("harbours", toMany: "Harbour", inverse: "region")
    }
    Entity("Harbour") {
      Attribute("number", .int32)
      Attribute("name", .string, optional: true)
      Attribute("isOpen", .bool, optional: true)
      Attribute("depth", .double, optional: true)
      Attribute("fee", .decimal, optional: true)
      Relationship("region", toOne: "Region", inverse: "harbours")
      Relationship("cargoes", toMany: "Cargo", inverse: "harbour")
    }
  }

  @EntitiesBuilder private static var goods: [Entity] {
    Entity("Cargo") {
      Attribute("number", .int32)
      Attribute("label", .string, optional: true)
      Attribute("isFragile", .bool, optional: true)
      Attribute("units", .int16, optional: true)
      Attribute("pieces", .int32, optional: true)
      Attribute("serial", .int64, optional: true)
      Attribute("grade", .enumeration(raw: .int16, cases: nil), optional: true)
      Attribute("weight", .double, optional: true)
      Attribute("reading", .double, optional: true)
      Attribute("draught", .float, optional: true)
      Attribute("price", .decimal, optional: true)
      Attribute("budget", .decimal, optional: true)
      Attribute("landed", .date, optional: true)
      Attribute("code", .uuid, optional: true)
      Attribute("seal", .data, optional: true)
      Relationship("harbour", toOne: "Harbour", inverse: "cargoes")
      Relationship("crates", toMany: "Crate", inverse: "cargo")
    }
    Entity("Livestock", parent: "Cargo") {
      Attribute("heads", .int16, default: 1)
    }
    Entity("Crate") {
      Attribute("number", .int32)
      Attribute("mark", .string, optional: true)
      Attribute("mass", .int32, optional: true)
      Attribute("amount", .int64, optional: true)
      Attribute("load", .double, optional: true)
      Attribute("worth", .decimal, optional: true)
      Attribute("packed", .date, optional: true)
      Relationship("cargo", toOne: "Cargo", inverse: "crates")
    }
  }
}
